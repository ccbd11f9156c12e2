"""The values that cross wmem's boundary, and the rows and changes inside it."""
