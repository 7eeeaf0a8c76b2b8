import { sleep } from "@xfn/lifetime";
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { AcquiredLease, type LeaderLease, leaderClock } from "./acquired-lease.ts";
import { LeaseRecords } from "./lease-record.ts";

export interface ElectionOptions {
  readonly client: Client;
  readonly namespace: string;
  /** The name of the Lease. All candidates for the same work use the same name. */
  readonly name: string;
  /** Identifies this process. It must change with each restart. */
  readonly identity: string;
  /** How long candidates wait after the leader's last renewal, in milliseconds. Default 15 s. */
  readonly leaseMs?: number | undefined;
  /** Withdraws the candidate. It does not release an acquired lease. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each try in which another candidate has the lease. */
  readonly onStandby?: (() => void) | undefined;
  /** Called for each failed request. The election retries by itself. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

// client-go's defaults: a lease of 15 s; a leader works on for 10 s without a renewal, and retries every 2 s.
const LEASE_MS = 15_000;
const DEADLINE_PART = 2 / 3;
const RETRY_PART = 2 / 15;

/**
 * Waits until this process is the leader. It acquires the Lease if that does not exist, was released, or was not
 * renewed for its whole duration by this process's clock. It never compares the clocks of two machines.
 *
 * @throws the signal's reason, or {@link ApiError} Forbidden, Invalid or KindNotServed: a retry would not help
 */
export async function electLeader(options: ElectionOptions): Promise<LeaderLease> {
  const { client, namespace, name, identity, leaseMs = LEASE_MS, signal, onError = () => undefined } = options;
  const retryMs = leaseMs * RETRY_PART;
  const deadlineMs = Math.floor(leaseMs * DEADLINE_PART);
  const records = new LeaseRecords(client, namespace, name, leaseMs);
  let seenVersion: string | undefined;
  let seenAt = 0;
  for (;;) {
    signal?.throwIfAborted();
    const sentAt = leaderClock();
    try {
      const found = await records.find(signal);
      if (found?.metadata.resourceVersion !== seenVersion) {
        seenVersion = found?.metadata.resourceVersion;
        seenAt = performance.now();
      }
      const record = found === undefined ? undefined : records.read(found);
      const free =
        record === undefined ||
        record.holder === "" ||
        record.holder === identity ||
        performance.now() - seenAt >= record.durationMs;
      if (free) {
        const lease = await records.acquire(found, identity, signal);
        return new AcquiredLease(records, lease, sentAt, { identity, retryMs, deadlineMs, onError });
      }
      options.onStandby?.();
    } catch (error) {
      signal?.throwIfAborted();
      if (isApiError(error, "Forbidden", "Invalid", "KindNotServed")) throw error;
      // After Conflict or AlreadyExists, another candidate was faster.
      if (!isApiError(error, "Conflict", "AlreadyExists")) onError(error);
    }
    // Jitter, so that candidates do not all retry at the same moment.
    await sleep(retryMs * (1 + Math.random() / 2), signal);
  }
}
