"""What gditd stands on: known vulnerabilities, licences, and a bill of materials, of the environment in .venv.

    python tools/supply_chain.py audit     # vulnerabilities and licences
    python tools/supply_chain.py sbom      # build/sbom.cdx.json, CycloneDX

The tools live in an environment of their own, so that they are no part of what they look at. Where they cannot be
had, or the lists of vulnerabilities cannot be reached, a line says so and nothing fails: that is no finding.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
AUDITED = ROOT / ".venv"
TOOLS = ROOT / "build" / "tools"
SBOM = ROOT / "build" / "sbom.cdx.json"
WANTED = ("pip-audit>=2.7,<3", "cyclonedx-bom>=7,<8")

# Licences that ask for more than a notice; a dependency with one of them is for people to decide about.
TO_LOOK_AT = ("GPL", "AGPL", "SSPL", "BUSL", "Commercial", "Proprietary", "UNKNOWN")
FINE = ("LGPL", "GCC-exception", "MIT", "BSD", "Apache")

LICENCES = """
import importlib.metadata as metadata, json
found = {}
for package in metadata.distributions():
    about = package.metadata
    classified = [c.split(" :: ")[-1] for c in about.get_all("Classifier", []) if c.startswith("License :: ")]
    text = about.get("License-Expression") or ", ".join(classified) or (about.get("License") or "").strip()
    found[about["Name"]] = [package.version, text.splitlines()[0][:60] if text else "UNKNOWN"]
print(json.dumps(found))
"""


def main(what: str) -> int:
    """Do what was asked for; the exit code is 1 where something was found."""
    if what == "audit":
        show_licences()
        return show_vulnerabilities()
    if what == "sbom":
        return write_sbom()
    print(f"unknown: {what}; give audit or sbom")
    return 2


# --- licences ---


def show_licences() -> None:
    """Print every package with its version and licence, those to look at first."""
    asked = subprocess.run([python(AUDITED), "-c", LICENCES], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = json.loads(asked.stdout)
    rows = sorted(found.items(), key=lambda item: (not to_look_at(item[1][1]), item[0].lower()))
    for name, (version, licence) in rows:
        mark = "look" if to_look_at(licence) else "    "
        print(f"{mark}  {name:28} {version:14} {licence}")
    print(f"{len(rows)} packages, {sum(to_look_at(licence) for _, (_, licence) in rows)} licences to look at\n")


def to_look_at(licence: str) -> bool:
    """Whether people should look at a licence; one that leaves a choice is fine if one of its parts is."""
    return any(word in licence for word in TO_LOOK_AT) and not any(word in licence for word in FINE)


# --- vulnerabilities ---


def show_vulnerabilities() -> int:
    """Print known vulnerabilities of what is installed."""
    tool = tool_named("pip-audit")
    if tool is None:
        return 0
    asked = subprocess.run(
        [tool, "--path", str(site_packages()), "--format", "json", "--progress-spinner", "off", "--timeout", "10"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        report = json.loads(asked.stdout)
    except ValueError:
        reason = last_line(asked.stderr)
        print(f"vulnerabilities: skipped, the list of them cannot be reached ({reason})")
        return 0
    return tell_findings(report)


def tell_findings(report: dict[str, Any]) -> int:
    """Print what an audit found."""
    packages = report["dependencies"]
    hit = [package for package in packages if package.get("vulns")]
    unknown = [package for package in packages if package.get("skip_reason")]
    for package in hit:
        for finding in package["vulns"]:
            cure = ", ".join(finding.get("fix_versions", [])) or "no version yet"
            print(f"VULNERABLE  {package['name']} {package['version']}: {finding['id']} (fixed in {cure})")
    if len(unknown) == len(packages):
        print("vulnerabilities: skipped, the list of them knows none of the packages (no connection to it?)")
        return 0
    for package in unknown:
        print(f"not looked up: {package['name']} {package.get('version', '')}".rstrip())
    print(f"vulnerabilities: {len(hit)} of {len(packages) - len(unknown)} packages have known ones")
    return 1 if hit else 0


# --- bill of materials ---


def write_sbom() -> int:
    """Write a bill of materials of what is installed."""
    tool = tool_named("cyclonedx-py")
    if tool is None:
        return 0
    SBOM.parent.mkdir(exist_ok=True)
    options = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-format", "JSON", "--output-file", str(SBOM)]
    subprocess.run([tool, "environment", str(python(AUDITED)), *options], check=True, capture_output=True)
    document = json.loads(SBOM.read_text(encoding="utf-8"))
    print(f"{SBOM.relative_to(ROOT)}: {document['bomFormat']} {document['specVersion']}", end=", ")
    print(f"{len(document['components'])} components")
    return 0


# --- the tools ---


def tool_named(name: str) -> str | None:
    """A tool's program, installed if it is not there; None, and a line about it, where it cannot be."""
    program = TOOLS / "bin" / name
    if not program.exists():
        install_tools()
    if program.exists():
        return str(program)
    print(f"{name}: skipped, it is not there and cannot be installed (no connection?)")
    return None


def install_tools() -> None:
    """Make the tools' own environment."""
    if not (TOOLS / "bin" / "python").exists():
        venv.create(TOOLS, with_pip=True)
    pip = [str(python(TOOLS)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *WANTED], check=False, capture_output=True)


def python(environment: Path) -> Path:
    """The interpreter of an environment."""
    return environment / "bin" / "python"


def site_packages() -> Path:
    """Where the packages are that are looked at."""
    return next((AUDITED / "lib").glob("python3*")) / "site-packages"


def last_line(text: str) -> str:
    """The last thing said."""
    lines = text.strip().splitlines()
    return lines[-1][:160] if lines else "no reason given"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
