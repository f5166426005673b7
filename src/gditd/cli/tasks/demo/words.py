"""The columns of the simulated disputes in the words of a dispute desk."""

from __future__ import annotations

WORDS = {
    "claim_amount": "amount disputed",
    "claim_delay_days": "days from purchase to claim",
    "claim_purchases": "purchases disputed at once",
    "claim_new_device": "bought on a new device",
    "claim_new_merchant": "first purchase at that merchant",
    "claim_distance_km": "km from home to the purchase",
    "claim_authenticated": "purchase was authenticated",
    "claim_delivered": "goods were delivered",
    "claim_contacted_merchant": "asked the merchant first",
    "claim_documents": "documents handed in",
    "claim_police_report": "reported to the police",
    "claim_amount_to_usual": "amount, in usual purchases",
    "claim_amount_to_limit": "amount, in credit limits",
    "claim_largest_amount": "largest purchase disputed",
    "claim_purchase_hour": "hour of the purchase",
    "claim_purchase_at_night": "bought at night",
    "claim_purchase_online": "bought online",
    "claim_purchase_in_store": "bought in a shop",
    "claim_purchase_atm": "drawn at a cash machine",
    "claim_purchase_phone": "bought by telephone",
    "claim_purchase_recurring": "a recurring payment",
    "claim_resaleable": "goods that resell well",
    "claim_hour": "hour of the claim",
    "claim_at_weekend": "claimed at a weekend",
    "claim_by_app": "claimed in the app",
    "claim_by_phone": "claimed by telephone",
    "claim_by_branch": "claimed in a branch",
    "cardholder_disputes_before": "earlier disputes",
    "cardholder_disputes_refunded": "earlier disputes that were refunded",
    "cardholder_days_since_dispute": "days since the last dispute",
    "cardholder_tenure_months": "months as a customer",
    "cardholder_age": "cardholder's age",
    "cardholder_devices": "cardholder's devices",
    "cardholder_income": "cardholder's income",
    "cardholder_credit_limit": "cardholder's credit limit",
    "cardholder_late_payments": "late payments",
    "cardholder_days_since_address_change": "days since a change of address",
    "merchant_dispute_rate": "merchant's share of disputes",
    "merchant_risk": "merchant's risk score",
    "merchant_refund_rate": "merchant's share of refunds",
    "merchant_delivery_days": "merchant's delivery time in days",
    "merchant_age_months": "merchant's age in months",
    "merchant_sales": "merchant's sales",
}
FAMILIES = {"claim_reason_": "reason given: ", "merchant_sells_": "merchant sells "}
LAST_30_DAYS = {
    "count": "purchases",
    "amount_sum": "money spent",
    "amount_mean": "mean purchase",
    "amount_max": "largest purchase",
    "amount_std": "spread of amounts",
    "distance_max": "farthest purchase in km",
    "night_share": "share bought at night",
    "weekend_share": "share bought at weekends",
    "new_merchant_share": "share at new merchants",
    "new_device_share": "share on new devices",
    "abroad_share": "share bought abroad",
    "declined_share": "share declined",
    "resaleable_share": "share that resells well",
    "distance_mean": "mean distance in km",
    "merchant_risk_mean": "mean risk of merchants",
}


def in_words(column: str) -> str:
    """What a column says; its name with spaces where there are no words for it."""
    if column in WORDS:
        return WORDS[column]
    for start, words in FAMILIES.items():
        if column.startswith(start):
            return words + column.removeprefix(start).replace("_", " ")
    statistic = column.removesuffix("_30d_all")
    if statistic != column and statistic in LAST_30_DAYS:
        return f"{LAST_30_DAYS[statistic]}, last 30 days"
    return column.replace("_", " ")
