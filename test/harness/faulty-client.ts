import type { JsonValue, KubernetesObject } from "@xfn/json";
import { ApiError, type Client, type LiveObject, type ObjectReference, type WriteOptions } from "@xfn/kubernetes";

/**
 * The point of a write at which the controller crashes: before sending, after storing without a reply, or after the
 * reply.
 */
export type CrashPoint = "before" | "after-commit" | "after-reply";

export type WriteFault =
  /** The controller crashes: no later request gets a reply. */
  | { readonly kind: "crash"; readonly point: CrashPoint }
  /** The controller crashes while the write is in flight. {@link FaultyClient.deliverLate} stores it. */
  | { readonly kind: "late" | "very-late" }
  /** The write is stored, but the controller sees a broken connection and continues. */
  | { readonly kind: "lost-reply" }
  /** The write is not stored; the controller sees an error and continues. */
  | { readonly kind: "conflict" | "busy" | "unreachable" };

/** A write that a controller requested, in order. */
export interface Write {
  /** Counts from 1. */
  readonly number: number;
  readonly verb: "create" | "update" | "apply" | "patch" | "delete";
  readonly object: ObjectReference;
  readonly subresource: string | undefined;
  readonly manager: string | undefined;
  /** The user that the request impersonates; undefined: none. */
  readonly as: string | undefined;
  /** Whether the server rejected it; set when the server has replied. */
  readonly answer: { refused: boolean };
}

export interface FaultyClient {
  readonly client: Client;
  /** All writes so far, failed ones included, without dry runs, events and leases. */
  readonly writes: readonly Write[];
  /** The number of stored writes that the controller has a reply for. */
  readonly stored: number;
  readonly hasCrashed: boolean;
  /** Resolves when the controller has crashed. Its reconcile never settles. */
  readonly crashed: Promise<void>;
  /** Crashes the controller now, between two requests. */
  crash(): void;
  /** Resolves when no request is in flight: each sent write of a crashed controller is stored or rejected. */
  drained(): Promise<void>;
  /** Sends the write that a `late` fault delayed, as a slow network would. Returns its result or throws its error. */
  deliverLate(): Promise<LiveObject | ApiError | undefined>;
}

/**
 * A client that crashes its controller, or injects a fault, at chosen writes. After a crash no request settles, so that
 * the controller's code stops as if its process had ended.
 *
 * @param faultAt returns the fault of a write; called before each write
 */
export function faultyClient(inner: Client, faultAt: (write: Write) => WriteFault | undefined): FaultyClient {
  const writes: Write[] = [];
  const crashed = Promise.withResolvers<void>();
  const underWay = new Set<Promise<unknown>>();
  let dead = false;
  let stored = 0;
  let late: (() => Promise<LiveObject | undefined>) | undefined;

  const die = (): void => {
    dead = true;
    crashed.resolve();
  };
  const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
  const track = async <T>(work: Promise<T>): Promise<T> => {
    const tracked = work.catch(() => undefined);
    underWay.add(tracked);
    try {
      return await work;
    } finally {
      underWay.delete(tracked);
    }
  };
  // A request in flight at the crash never settles.
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    if (dead) {
      die();
      return await never<T>();
    }
    try {
      const answer = await track(work());
      return isDead() ? await never<T>() : answer;
    } catch (error) {
      if (isDead()) return await never<T>();
      throw error;
    }
  };
  const isDead = (): boolean => dead;

  const write = async <T extends LiveObject | undefined>(
    verb: Write["verb"],
    object: ObjectReference,
    options: Pick<WriteOptions, "as" | "dryRun" | "fieldManager" | "subresource"> | undefined,
    send: () => Promise<T>,
  ): Promise<T> => {
    if (dead || options?.dryRun === true || object.kind === "Event" || object.kind === "Lease") return await ask(send);
    const answer = { refused: false };
    const { as, fieldManager: manager, subresource } = options ?? {};
    const made: Write = { number: writes.length + 1, verb, object, subresource, manager, as, answer };
    writes.push(made);
    const fault = faultAt(made);
    switch (fault?.kind) {
      case undefined: {
        const result = await ask(async () => {
          try {
            return await send();
          } catch (error) {
            answer.refused = true;
            throw error;
          }
        });
        stored++;
        return result;
      }
      case "late":
      case "very-late":
        late = send;
        die();
        return await never<T>();
      case "crash": {
        if (fault.point === "before") {
          die();
          return await never<T>();
        }
        if (fault.point === "after-commit") {
          const sent = track(send());
          die();
          await sent.catch(() => undefined);
          return await never<T>();
        }
        try {
          return await track(send());
        } finally {
          // The reply to this write is the last that the controller gets.
          dead = true;
          setImmediate(die);
        }
      }
      case "lost-reply":
        await ask(send).catch(() => undefined);
        throw new ApiError("Unreachable", `${verb} of ${object.kind} ${object.name}: the connection broke`);
      case "unreachable":
        throw new ApiError("Unreachable", `${verb} of ${object.kind} ${object.name}: the connection broke`);
      case "busy":
        throw new ApiError("Busy", "the server is busy", { status: 429, retryAfterMs: 1 });
      case "conflict":
        throw new ApiError("Conflict", `${object.kind} ${object.name} has been changed`, {
          status: 409,
          reason: "Conflict",
        });
    }
  };

  const client: Client = {
    get: (reference, options) => ask(() => inner.get(reference, options)),
    list: (kind, options) => ask(() => inner.list(kind, options)),
    watch: (kind, options) => inner.watch(kind, options),
    create: (object, options) => write("create", nameOf(object), options, () => inner.create(object, options)),
    update: (object, options) => write("update", nameOf(object), options, () => inner.update(object, options)),
    apply: (object, options) => write("apply", nameOf(object), options, () => inner.apply(object, options)),
    patch: (reference, type, body: JsonValue, options) =>
      write("patch", reference, options, () => inner.patch(reference, type, body, options)),
    delete: (reference, options) => write("delete", reference, options, () => inner.delete(reference, options)),
    kind: (apiVersion, kind, options) => ask(() => inner.kind(apiVersion, kind, options)),
    forgetKinds: (apiVersion) => inner.forgetKinds(apiVersion),
    raw: (method, path, options) => ask(() => inner.raw(method, path, options)),
  };
  return {
    client,
    writes,
    get stored() {
      return stored;
    },
    get hasCrashed() {
      return dead;
    },
    crashed: crashed.promise,
    crash: die,
    drained: async () => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    deliverLate: async () => {
      try {
        return await late?.();
      } catch (error) {
        if (error instanceof ApiError) return error;
        throw error;
      }
    },
  };
}

function nameOf({ apiVersion = "", kind = "", metadata = {} }: KubernetesObject): ObjectReference {
  return { apiVersion, kind, name: metadata.name ?? `${metadata.generateName}?`, namespace: metadata.namespace };
}
