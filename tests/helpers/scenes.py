"""What viewer.js reads of a scene, read here."""

import base64
import json
import struct
import zlib

import numpy as np


def unpacked(text):
    """The scene in a packed text; arrays as numpy has them."""
    content = zlib.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<I", content)
    base = 4 + length

    def read(x):
        if isinstance(x, list):
            return [read(y) for y in x]
        if not isinstance(x, dict):
            return x
        if "dtype" not in x:
            return {key: read(value) for key, value in x.items()}
        count, begin = int(np.prod(x["shape"], dtype=int)), base + x["offset"]
        if x["dtype"] != "fixed":
            return np.frombuffer(content, f"<{x['dtype']}", count, begin).reshape(x["shape"])
        planes = np.frombuffer(content, np.uint8, 4 * count, begin).reshape(4, count)
        change = np.ascontiguousarray(planes.T).view("<i4").reshape(x["shape"])
        return x["low"] + x["step"] * np.cumsum(change, axis=0)

    return read(json.loads(content[4:base]))


def scene_in(page):
    """That of a page with one scene."""
    return unpacked(page.partition('<script type="application/octet-stream">')[2].partition("</script>")[0])
