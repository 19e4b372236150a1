"""What lies in the folder of a cross-encoder, which scores a question and a text together and gives no vectors."""

from __future__ import annotations

from pathlib import Path

from semsearch.errors import ModelUnusable
from semsearch.models.layout import CLASSIFIER, architecture_of, missing_file, read_json

WAY_OUT = "Give a cross-encoder with one score, such as cross-encoder/ms-marco-MiniLM-L6-v2."


def refuse_other_kinds(folder: Path) -> None:
    """Raise ModelUnusable where a folder holds a model that is no cross-encoder, saying what it is."""
    if (folder / "modules.json").is_file():
        made_as = read_json(folder / "config_sentence_transformers.json").get("model_type", "SentenceTransformer")
        if made_as == "SentenceTransformer":
            raise ModelUnusable(f"{folder} holds a sentence encoder, which gives vectors of single texts and no scores "
                                "of pairs.", WAY_OUT)
        if made_as != "CrossEncoder":
            raise ModelUnusable(f"{folder} holds a {made_as}, which is no cross-encoder.", WAY_OUT)
        return
    architecture = architecture_of(read_json(folder / "config.json"))
    if not architecture.endswith(CLASSIFIER):
        raise ModelUnusable(f"{folder} holds no cross-encoder: its config.json names "
                            f"{architecture or 'no architecture'} where a {CLASSIFIER} is expected.", WAY_OUT)


def what_a_cross_encoder_lacks(folder: Path) -> str:
    """Return which file of a cross-encoder is missing or cut, as words for a message; empty where it is complete.

    Raises ModelUnusable where it is another kind of model.
    """
    refuse_other_kinds(folder)
    return missing_file(folder)


def refuse_foreign_activation(name: str, folder: Path, trust_remote_code: bool) -> None:
    """Raise ModelUnusable where the function that makes scores of the model's numbers is not one of torch.

    The library would pass over it and take another, whose scores the model was not made for.
    """
    config = read_json(folder / "config.json")
    nested = config.get("sentence_transformers")
    named = (nested.get("activation_fn") if isinstance(nested, dict) else None,
             config.get("sbert_ce_default_activation_function"),
             read_json(folder / "config_sentence_transformers.json").get("activation_fn"))
    foreign = next((str(activation) for activation in named
                    if activation is not None and not str(activation).startswith("torch.")), None)
    if foreign is not None and not trust_remote_code:
        raise ModelUnusable(f"The model {name} would run code from its repository (activation {foreign}).",
                            "If you have read that code and trust it, allow it with --trust-remote-code.")
