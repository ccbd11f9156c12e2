"""Sessions and packs of many shapes, whose receipts are replayed later."""
