"""Base of the structs of plans and manifests."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from dumbbell.units import MAX_INT

Count = Annotated[int, Meta(ge=0, le=MAX_INT)]
Positive = Annotated[int, Meta(gt=0, le=MAX_INT)]


class View(Struct, frozen=True, kw_only=True):
    """Fields by attribute; also by the name that they have in the file, as in ``flow["cca"]``, which raises
    KeyError.
    """

    def __getitem__(self, name: str) -> Any:
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return getattr(self, name)
