"""What tests of tables share: a plain table, and a look at what was read."""

from __future__ import annotations

import io

PLAIN = "x,kind\n1.5,a\n-2,b\n"


def columns(table):
    return table.frame.to_dict("list")


def saved(save, *arguments, **keywords):
    buffer = io.BytesIO()
    save(buffer, *arguments, **keywords)
    return buffer.getvalue()
