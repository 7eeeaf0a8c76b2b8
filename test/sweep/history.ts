import type { JsonObject } from "@xfn/functionio";
import { type Client, isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { at, controllerOf, entryOf, objectsAt, textAt } from "./objects.ts";

/** One change of one object, in the order in which the server stored all of them. */
export interface Change {
  readonly version: bigint;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: LiveObject;
}

/** Records what happens to objects of some kinds. */
export interface History extends AsyncDisposable {
  /** Objects as they are, once all that has been stored by now has been seen. */
  current(): Promise<readonly LiveObject[]>;
  /** All changes since the last call of `forget` of objects with this in their names. */
  of(id: string): readonly Change[];
  /** Forgets changes of such objects. */
  forget(id: string): void;
}

/** Watches these kinds from now on. The server's resource versions are one sequence for all of them. */
export async function recordHistory(client: Client, kinds: readonly ResourceKind[]): Promise<History> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let changes: Change[] = [];
  const tracks = await Promise.all(
    kinds.map(async (kind) => {
      const { items, resourceVersion } = await client.list(kind);
      const objects = new Map(items.map((item) => [item.metadata.uid, item]));
      const follow = async (): Promise<void> => {
        let from = resourceVersion;
        while (!signal.aborted) {
          try {
            for await (const { type, object } of client.watch(kind, { resourceVersion: from, signal })) {
              from = object.metadata.resourceVersion;
              if (type === "BOOKMARK") continue;
              if (type === "DELETED") objects.delete(object.metadata.uid);
              else objects.set(object.metadata.uid, object);
              changes.push({ version: BigInt(object.metadata.resourceVersion), type, object });
            }
          } catch (error) {
            if (!signal.aborted && !isApiError(error, "Unreachable", "Busy", "Timeout")) throw error;
          }
        }
      };
      return { kind, objects, following: follow() };
    }),
  );
  const caughtUp = async ({ kind, objects }: (typeof tracks)[number]): Promise<readonly LiveObject[]> => {
    for (;;) {
      const { items } = await client.list(kind, { signal });
      const isSeen = ({ metadata }: LiveObject): boolean =>
        objects.get(metadata.uid)?.metadata.resourceVersion === metadata.resourceVersion;
      if (items.length === objects.size && items.every(isSeen)) return items;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return {
    current: async () => (await Promise.all(tracks.map(caughtUp))).flat(),
    of: (id) => changes.filter(({ object }) => isOf(object, id)).toSorted((a, b) => (a.version < b.version ? -1 : 1)),
    forget: (id) => {
      changes = changes.filter(({ object }) => !isOf(object, id));
    },
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      await Promise.allSettled(tracks.map(({ following }) => following));
    },
  };
}

/** Whether an object belongs to the run with this id. */
export function isOf({ metadata }: LiveObject, id: string): boolean {
  return metadata.name.includes(id);
}

/** What was wrong at some moment, one line each: invariants 1, 2 and 6 of reconciling a composite. */
export function violations(changes: readonly Change[]): string[] {
  const lines: string[] = [];
  const live = new Map<string, LiveObject>();
  for (const { type, object, version } of changes) {
    const { uid } = object.metadata;
    const told = (what: string): void => {
      lines.push(`at ${version}: ${object.kind} ${object.metadata.name} ${what}`);
    };
    if (type === "ADDED") checkCreation(object, live, told);
    if (type === "MODIFIED") checkReferences(object, live, told);
    if (type === "DELETED") live.delete(uid);
    else live.set(uid, object);
  }
  return lines;
}

function checkCreation(object: LiveObject, live: ReadonlyMap<string, LiveObject>, told: (what: string) => void): void {
  const entry = entryOf(object);
  const uid = textAt(controllerOf(object), "uid");
  if (entry === undefined || uid === undefined) return;
  for (const other of live.values()) {
    if (entryOf(other) === entry && textAt(controllerOf(other), "uid") === uid)
      told(`is a second ${entry} beside ${other.metadata.name}`);
  }
  const composite = live.get(uid);
  if (composite === undefined) return told("was created after its composite had gone");
  if (!referencesOf(composite).includes(referenceTo(object))) told("was created before its composite had a reference");
  if (objectsOrTexts(composite).length === 0) told("was created before its composite had a finalizer");
}

// A reference stays for as long as what it names is there and is the composite's.
function checkReferences(
  composite: LiveObject,
  live: ReadonlyMap<string, LiveObject>,
  told: (what: string) => void,
): void {
  const before = live.get(composite.metadata.uid);
  if (before === undefined) return;
  const kept = referencesOf(composite);
  const lost = referencesOf(before).filter((reference) => !kept.includes(reference));
  if (lost.length === 0) return;
  for (const other of live.values()) {
    const isOwn = textAt(controllerOf(other), "uid") === composite.metadata.uid;
    if (isOwn && lost.includes(referenceTo(other)))
      told(`lost its reference to ${other.metadata.name}, which is there`);
  }
}

function objectsOrTexts(composite: LiveObject): readonly unknown[] {
  const finalizers = at(composite, "metadata", "finalizers");
  return Array.isArray(finalizers) ? finalizers : [];
}

function referencesOf(composite: LiveObject): string[] {
  return objectsAt(composite, "spec", "resourceRefs").map((reference) => words(reference, textAt(reference, "name")));
}

function referenceTo(object: LiveObject): string {
  return words(object, object.metadata.name);
}

// Whatever version: another one of the same kind names the same object.
function words(object: JsonObject, name: string | undefined): string {
  const group = (textAt(object, "apiVersion") ?? "").replace(/\/?[^/]*$/, "");
  return `${textAt(object, "kind")} ${group} ${name}`;
}
