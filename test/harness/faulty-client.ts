import type { JsonValue, KubernetesObject } from "@xfn/functionio";
import { ApiError, type Client, type LiveObject, type ObjectReference, type WriteOptions } from "@xfn/kubernetes";

/** Where in a write the controller dies: nothing sent, stored without the controller learning of it, or answered. */
export type CrashPoint = "before" | "after-commit" | "after-reply";

/** What goes wrong with a write. */
export type WriteFault =
  /** From here on nothing that the controller asks is answered. */
  | { readonly kind: "crash"; readonly point: CrashPoint }
  /** As `crash` before it, but the write is still under way: it is stored when {@link FaultyClient.deliverLate} says so. */
  | { readonly kind: "late" | "very-late" }
  /** Stored; the controller is told that the connection broke, and goes on. */
  | { readonly kind: "lost-reply" }
  /** Not stored; the controller is told so, and goes on. */
  | { readonly kind: "conflict" | "busy" | "unreachable" };

/** One write that a controller asked for, in the order of asking. */
export interface Write {
  /** From 1. */
  readonly number: number;
  readonly verb: "create" | "update" | "apply" | "patch" | "delete";
  readonly object: ObjectReference;
  readonly subresource: string | undefined;
  /** Whether the server has refused it; known when it has answered. */
  readonly answer: { refused: boolean };
}

export interface FaultyClient {
  readonly client: Client;
  /** Every write so far, those that failed too. Not among them: dry runs, events and leases. */
  readonly writes: readonly Write[];
  /** How many of them the controller knows to have been stored. */
  readonly stored: number;
  readonly hasCrashed: boolean;
  /** Resolves when the controller has crashed: whoever waits for its reconcile would wait for ever. */
  readonly crashed: Promise<void>;
  /** Crashes it now, between two requests. */
  crash(): void;
  /** Resolves when no request is under way any more: what a dead controller had sent has been stored or refused. */
  drained(): Promise<void>;
  /** Sends the write that a `late` fault held back, as if the network had kept it for so long. Its result, or its error. */
  deliverLate(): Promise<LiveObject | ApiError | undefined>;
}

/**
 * A client on which a controller dies or has bad luck at chosen writes. A crashed one answers nothing any more: whoever asks waits
 * for ever, as code does that has ceased to run.
 *
 * @param faultAt asked before each write
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
  // A request that was under way when the controller died is answered to nobody.
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
    options: WriteOptions | undefined,
    send: () => Promise<T>,
  ): Promise<T> => {
    if (dead || options?.dryRun === true || object.kind === "Event" || object.kind === "Lease") return await ask(send);
    const answer = { refused: false };
    const made: Write = { number: writes.length + 1, verb, object, subresource: options?.subresource, answer };
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
          // What it was told is its last news.
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
    delete: (reference, options) => write("delete", reference, undefined, () => inner.delete(reference, options)),
    kind: (apiVersion, kind, options) => ask(() => inner.kind(apiVersion, kind, options)),
    forgetKinds: () => inner.forgetKinds(),
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
