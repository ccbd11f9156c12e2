"""All jobs of maintenance, in the order in which they run."""

from wmem.agent.consolidation.apply_retention import APPLY_RETENTION
from wmem.agent.consolidation.close_episodes import close_episodes
from wmem.agent.consolidation.evict_long_term import EVICT_LONG_TERM
from wmem.agent.consolidation.extract_skills import EXTRACT_SKILLS
from wmem.agent.consolidation.jobs import Job
from wmem.agent.consolidation.mark_superseded import MARK_SUPERSEDED
from wmem.agent.consolidation.merge_duplicates import MERGE_DUPLICATES
from wmem.agent.consolidation.purge import PURGE
from wmem.agent.consolidation.redact_long_term import REDACT
from wmem.agent.consolidation.summarize_tails import SUMMARIZE_TAILS, summarize_tails
from wmem.agent.consolidation.thin_episodic import thin_episodic
from wmem.model.removal import THIN_JOB

JOBS: tuple[Job, ...] = (
    REDACT,
    Job(SUMMARIZE_TAILS, summarize_tails),
    Job("close-episodes", close_episodes),
    EXTRACT_SKILLS,
    MERGE_DUPLICATES,
    MARK_SUPERSEDED,
    APPLY_RETENTION,
    Job(THIN_JOB, thin_episodic),
    EVICT_LONG_TERM,
    PURGE,
)
"""Summaries come first, then what merges and marks, then what takes away, and at last what ends it for good."""
