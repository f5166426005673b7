"""One-file models: tensors in the safetensors format, settings as JSON in its header, and a seal over all of it.

Reading one never executes code. Nothing is pickled, and only gditd's own estimators are looked up by name.
"""

from gditd.model_file.errors import ModelFileError
from gditd.model_file.estimators import Tensors, load, save_model

__all__ = ["ModelFileError", "Tensors", "load", "save_model"]
