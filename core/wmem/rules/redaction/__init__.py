"""What hides secrets and personal data."""

from wmem.rules.redaction.kinds import ALL, REDACTION_KINDS, RedactionKind
from wmem.rules.redaction.presidio import PresidioAnalyzer, PresidioRecognizer, PresidioResult
from wmem.rules.redaction.redaction import Recognizer, Redacted, Redaction, RedactionStatus
from wmem.rules.redaction.spans import Span

__all__ = [
    "ALL",
    "REDACTION_KINDS",
    "PresidioAnalyzer",
    "PresidioRecognizer",
    "PresidioResult",
    "Recognizer",
    "Redacted",
    "Redaction",
    "RedactionKind",
    "RedactionStatus",
    "Span",
]
