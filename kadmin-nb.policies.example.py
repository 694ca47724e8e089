"""Rules that every cluster and every plan must keep: kadmin-nb policy check kadmin-nb.policies.example.py prod

Each function is a rule: its parameters are frames, the first line of its docstring says why, and it returns the rows
that break it. docs/policy.md has the frames. A rule of ==, isin, &, | and ~ takes those of Spark, too.
"""

import kadmin_nb as kn

MB = 1e6
PRODUCE, CONSUME = "producer_byte_rate", "consumer_byte_rate"
BYTES_IN_OF_A_BROKER = 1250 * MB


def nobody_unlimited(effective):
    """A client without a limit can take a broker's whole line."""
    rates = effective[effective.key.isin([PRODUCE, CONSUME]) & ~effective.user.isin(["admin", "mirror-maker"])]
    return rates[rates.value.isna()]


def produce_fits_the_capacity(effective):
    """What clients may send together has to fit a broker, with a fifth of it for replication."""
    limits = effective[(effective.key == PRODUCE) & ~effective.user.isin(["admin", "mirror-maker"])].dropna(
        subset="value"
    )
    buckets = limits.drop_duplicates(["bucket_user", "bucket_client_id"])
    excess = buckets.value.sum() - 0.8 * BYTES_IN_OF_A_BROKER
    return buckets.nlargest(10, "value").assign(excess=excess) if excess > 0 else buckets[:0]


def no_default_user_beside_client_ids(quotas):
    """A quota of the default user shadows every client-id quota."""
    shadowed = quotas[quotas.level.isin(["CLIENT", "DEFAULT_CLIENT"])]
    return quotas[quotas.level == "DEFAULT_USER"] if len(shadowed) else quotas[:0]


def no_throttle_left_behind(configs):
    """A throttle that outlives its reassignment slows replication down for ever."""
    return configs[
        configs.key.isin(["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"])
    ]


def two_replicas_in_sync(configs):
    """An acknowledged record has to survive the loss of a broker."""
    low = configs[(configs.key == "min.insync.replicas") & configs.value.isin(["0", "1"])]
    return low[(low.resource_type == "TOPIC") & ~low.resource_name.str.startswith(("scratch-", "__"))]


@kn.rule(severity="danger")
def no_user_above_50_MB(quotas):
    """More is agreed upon with the platform team first."""
    return quotas[(quotas.level == "USER") & (quotas.key == PRODUCE) & (quotas.value > 50 * MB)]
