import { isObject, type JsonObject } from "@xfn/json";
import { isApiError } from "../client/api-error.ts";
import type { Client, LiveObject, ObjectReference } from "../client/client.ts";

/** The state of an election in a Lease's spec (Kubernetes API, coordination.k8s.io/v1). */
export interface LeaseRecord {
  /** "" after a release. */
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly acquired: string | undefined;
}

/** The Lease of one election. */
export class LeaseRecords {
  readonly reference: ObjectReference;
  readonly #client: Client;
  readonly #leaseMs: number;

  /** @param leaseMs the duration that this process writes, and assumes where a Lease has none */
  constructor(client: Client, namespace: string, name: string, leaseMs: number) {
    this.#client = client;
    this.#leaseMs = leaseMs;
    this.reference = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace, name };
  }

  async find(signal: AbortSignal | undefined): Promise<LiveObject | undefined> {
    try {
      return await this.#client.get(this.reference, { signal });
    } catch (error) {
      if (isApiError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  read(lease: LiveObject): LeaseRecord {
    const spec = isObject(lease["spec"]) ? lease["spec"] : {};
    const { holderIdentity, leaseDurationSeconds: seconds, leaseTransitions, acquireTime } = spec;
    return {
      holder: typeof holderIdentity === "string" ? holderIdentity : "",
      durationMs: typeof seconds === "number" ? seconds * 1000 : this.#leaseMs,
      transitions: typeof leaseTransitions === "number" ? leaseTransitions : 0,
      acquired: typeof acquireTime === "string" ? acquireTime : undefined,
    };
  }

  /** Makes a process the holder of a free lease. @param found the Lease as read; undefined if there is none */
  acquire(found: LiveObject | undefined, holder: string, signal: AbortSignal | undefined): Promise<LiveObject> {
    const now = microTime(Date.now());
    const transitions = found === undefined ? 0 : this.read(found).transitions + 1;
    return this.#write(found, specOf(holder, this.#leaseMs, now, now, transitions), signal);
  }

  renew(lease: LiveObject, holder: string, signal: AbortSignal): Promise<LiveObject> {
    return this.#renew(lease, holder, this.#leaseMs, signal);
  }

  /** Lets another process acquire the lease at once. */
  release(lease: LiveObject, signal: AbortSignal): Promise<LiveObject> {
    // The API accepts no shorter duration than one second.
    return this.#renew(lease, "", 1000, signal);
  }

  #renew(lease: LiveObject, holder: string, leaseMs: number, signal: AbortSignal): Promise<LiveObject> {
    const { acquired, transitions } = this.read(lease);
    const now = microTime(Date.now());
    return this.#write(lease, specOf(holder, leaseMs, acquired ?? now, now, transitions), signal);
  }

  /** Creates the Lease, or replaces the version that was read, so that only one of two concurrent writers succeeds. */
  #write(before: LiveObject | undefined, spec: JsonObject, signal: AbortSignal | undefined): Promise<LiveObject> {
    if (before !== undefined) return this.#client.update({ ...before, spec }, { signal });
    const { apiVersion, kind, name, namespace = "" } = this.reference;
    return this.#client.create({ apiVersion, kind, metadata: { name, namespace }, spec }, { signal });
  }
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

/** A time as Kubernetes' `MicroTime`: Leases are rejected with fewer than six digits after the second. */
function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
