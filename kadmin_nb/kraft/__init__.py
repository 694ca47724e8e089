"""KRaft's own files: the metadata log of a cluster, read without a broker."""

from .metadata_changes import MetadataLog, metadata_log

__all__ = ["MetadataLog", "metadata_log"]
