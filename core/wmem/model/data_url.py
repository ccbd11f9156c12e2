"""Reading of ``data:`` URLs."""


def media_location(url: object) -> dict[str, str | None]:
    """Where a medium is, as fields of a `Part`: the content of a base64 ``data:`` URL, else the URL; or nothing."""
    if not isinstance(url, str):
        return {}
    head, comma, body = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return {"base64": body, "mime_type": head.removeprefix("data:").removesuffix(";base64") or None}
    return {"url": url}
