import { isObject, type JsonObject } from "@xfn/functionio";
import { isApiError } from "../client/api-error.ts";
import { sleep } from "../client/backoff.ts";
import type { Client, LiveObject, ObjectReference } from "../client/client.ts";
import { microTime } from "./micro-time.ts";

/** Who stands for election, and where. */
export interface ElectionOptions {
  readonly client: Client;
  readonly namespace: string;
  /** Of the Lease. All who stand for the same work name the same. */
  readonly name: string;
  /** Another for each process, restarts included. */
  readonly identity: string;
  /** How long others wait after the last sign of a leader. Default 15 s. */
  readonly leaseMs?: number | undefined;
  /** Gives up standing, with its reason. It does not end a lease that was won. */
  readonly signal?: AbortSignal | undefined;
  /** Told of renewals that failed; the next is tried soon. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** The right to work, until `lost`. */
export interface HeldLease {
  /**
   * Aborted when the lease was not renewed in time, a third of it before another may take it; at once when another has it; and
   * by `release`. Work ends then.
   */
  readonly lost: AbortSignal;
  /** Whether it is still held, by the clock: true no longer even where a process was stopped and `lost` could not be told yet. */
  readonly held: boolean;
  /** Lets others begin at once. Call it when the work has ended. Never fails. */
  release(): Promise<void>;
}

const LEASE_MS = 15_000;
// As client-go: 15 s, of which a leader that cannot renew works on for 10, trying every 2.
const RENEW_PART = 2 / 3;
const RETRY_PART = 2 / 15;

/** What a Lease says. */
interface Record {
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly acquired: string | undefined;
}

/**
 * Waits until this process is the leader: the Lease is free, was released, or has shown no sign of its holder for its whole
 * duration, by our own clock. Clocks are never compared between machines.
 *
 * @throws the signal's reason, or {@link ApiError} Forbidden or Invalid: trying again would not help
 */
export async function electLeader(options: ElectionOptions): Promise<HeldLease> {
  const { client, identity, leaseMs = LEASE_MS, signal, onError = () => undefined } = options;
  const reference: ObjectReference = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    namespace: options.namespace,
    name: options.name,
  };
  const retryMs = leaseMs * RETRY_PART;
  let seen: string | undefined;
  let seenAt = 0;
  for (;;) {
    signal?.throwIfAborted();
    const sentAt = clock();
    try {
      const lease = await find(client, reference, signal);
      if (lease?.metadata.resourceVersion !== seen) {
        seen = lease?.metadata.resourceVersion;
        seenAt = performance.now();
      }
      const record = lease === undefined ? undefined : readRecord(lease, leaseMs);
      const free =
        record === undefined ||
        record.holder === "" ||
        record.holder === identity ||
        performance.now() - seenAt >= record.durationMs;
      if (free) {
        const now = microTime(Date.now());
        const spec = specOf(identity, leaseMs, now, now, record === undefined ? 0 : record.transitions + 1);
        const claimed = await write(client, reference, lease, spec, signal);
        return hold(claimed, sentAt, { ...options, reference, leaseMs, retryMs, onError });
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (isApiError(error, "Forbidden", "Invalid", "KindNotServed")) throw error;
      // Conflict, AlreadyExists: another was quicker.
      if (!isApiError(error, "Conflict", "AlreadyExists")) onError(error);
    }
    // Those who lost this time do not all come back at the same moment.
    await sleep(retryMs * (1 + Math.random() / 2), signal);
  }
}

interface Holding extends ElectionOptions {
  readonly reference: ObjectReference;
  readonly leaseMs: number;
  readonly retryMs: number;
  readonly onError: (error: unknown) => void;
}

function hold(claimed: LiveObject, claimedAt: number, holding: Holding): HeldLease {
  const { client, reference, identity, leaseMs, retryMs, onError } = holding;
  const lost = new AbortController();
  const deadlineMs = Math.floor(leaseMs * RENEW_PART);
  let lease = claimed;
  // Counted from before the request was sent: others count from after it was done.
  let renewedAt = claimedAt;
  const lose = (why: string): void => {
    clearTimeout(deadline);
    lost.abort(new Error(`the lease ${reference.namespace}/${reference.name} ${why}`));
  };
  const remaining = (): number => renewedAt + deadlineMs - clock();
  // Looks at the clock again when it fires: a renewal has moved the deadline on.
  const watchDeadline = (): void => {
    if (lost.signal.aborted) return;
    const ms = remaining();
    if (ms <= 0) lose(`could not be renewed for ${deadlineMs / 1000} s`);
    else deadline = setTimeout(watchDeadline, ms);
  };
  let deadline: NodeJS.Timeout | undefined;
  watchDeadline();

  const renew = async (): Promise<void> => {
    const sentAt = clock();
    const signal = AbortSignal.any([lost.signal, AbortSignal.timeout(Math.max(1, Math.ceil(remaining())))]);
    try {
      lease = await write(client, reference, lease, renewed(lease, identity, leaseMs), signal);
      renewedAt = sentAt;
    } catch (error) {
      if (lost.signal.aborted) return;
      if (!isApiError(error, "Conflict", "NotFound")) return onError(error);
      // Somebody else wrote it, or our own write of before came through after all.
      const found = await find(client, reference, signal);
      if (found !== undefined && readRecord(found, leaseMs).holder !== identity) return lose("is another's now");
      if (found !== undefined) lease = found;
      else {
        const now = microTime(Date.now());
        lease = await write(client, reference, undefined, specOf(identity, leaseMs, now, now, 0), signal);
        renewedAt = sentAt;
      }
    }
  };
  const keep = async (): Promise<void> => {
    while (!lost.signal.aborted) {
      await sleep(retryMs, lost.signal).catch(() => undefined);
      if (lost.signal.aborted) return;
      await renew().catch((error: unknown) => {
        // Another made it where we found none.
        if (isApiError(error, "AlreadyExists")) lose("is another's now");
        else if (!lost.signal.aborted) onError(error);
      });
    }
  };
  const keeping = keep();
  return {
    lost: lost.signal,
    get held() {
      return !lost.signal.aborted && remaining() > 0;
    },
    async release() {
      const mine = !lost.signal.aborted;
      lose("was released");
      await keeping;
      if (!mine) return;
      // One second is the least that the API takes.
      const spec = { ...renewed(lease, "", 1000) };
      await write(client, reference, lease, spec, AbortSignal.timeout(deadlineMs)).catch(onError);
    },
  };
}

async function find(
  client: Client,
  reference: ObjectReference,
  signal: AbortSignal | undefined,
): Promise<LiveObject | undefined> {
  try {
    return await client.get(reference, { signal });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Creates or replaces: with the resource version that was read, so that of two only one succeeds. */
function write(
  client: Client,
  { apiVersion, kind, name, namespace = "" }: ObjectReference,
  before: LiveObject | undefined,
  spec: JsonObject,
  signal: AbortSignal | undefined,
): Promise<LiveObject> {
  if (before === undefined) return client.create({ apiVersion, kind, metadata: { name, namespace }, spec }, { signal });
  return client.update({ ...before, spec }, { signal });
}

function specOf(
  holderIdentity: string,
  leaseMs: number,
  acquireTime: string,
  renewTime: string,
  leaseTransitions: number,
): JsonObject {
  const leaseDurationSeconds = Math.max(1, Math.ceil(leaseMs / 1000));
  return { holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions };
}

function renewed(lease: LiveObject, holder: string, leaseMs: number): JsonObject {
  const { acquired, transitions } = readRecord(lease, leaseMs);
  const now = microTime(Date.now());
  return specOf(holder, leaseMs, acquired ?? now, now, transitions);
}

function readRecord(lease: LiveObject, leaseMs: number): Record {
  const spec = isObject(lease["spec"]) ? lease["spec"] : {};
  const { holderIdentity, leaseDurationSeconds: seconds, leaseTransitions, acquireTime } = spec;
  return {
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    durationMs: typeof seconds === "number" ? seconds * 1000 : leaseMs,
    transitions: typeof leaseTransitions === "number" ? leaseTransitions : 0,
    acquired: typeof acquireTime === "string" ? acquireTime : undefined,
  };
}

/**
 * The holder's clock: it also runs while the machine sleeps, which the steady one does not, and does not go back with the wall
 * clock. One that is set forward loses a lease too early, which is safe; who waits for a lease uses the steady clock, for which
 * that would not be.
 */
function clock(): number {
  const steady = performance.now();
  ahead = Math.max(ahead, Date.now() - steady);
  return steady + ahead;
}
let ahead = Number.NEGATIVE_INFINITY;
