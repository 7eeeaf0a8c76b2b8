import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@xfn/json";
import {
  type Client,
  isApiError,
  type LiveObject,
  type ObjectReference,
  type ResourceKind,
  type WriteOptions,
} from "@xfn/kubernetes";
import { isWatched, OPERATIONS } from "./kinds.ts";
import { at, controllerOf, entryOf, objectsAt, referencesPath, textAt } from "./objects.ts";

/** One change of one object, in the order of the server's resource versions. */
export interface Change {
  readonly version: bigint;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: LiveObject;
  /** A list found the change: what happened between this version and the change is unknown. */
  readonly unknownSince?: bigint;
}

/** Records the changes of objects of some kinds. */
export interface History extends AsyncDisposable {
  /** The given client. `caughtUp` waits for its writes. */
  readonly client: Client;
  /** Resolves when the history shows all writes of the client so far. */
  caughtUp(): Promise<void>;
  /** Whether the history shows the objects that the server has now. After a restart, watches come back one by one. */
  isCurrent(): Promise<boolean>;
  /** The objects of a recorded kind as last seen; undefined for another kind. */
  objects(kind: ResourceKind): readonly LiveObject[] | undefined;
  /** The objects of all recorded kinds. */
  all(): readonly LiveObject[];
  /** The changes of objects whose names contain the id, since the last call of `forget`. */
  of(id: string): readonly Change[];
  /** Drops the changes of these objects. */
  forget(id: string): void;
}

interface Track {
  readonly objects: Map<string, LiveObject>;
  /** The latest version of any object that was seen. */
  version: bigint;
}

// A watch reports changes within milliseconds.
const NEWS_MS = 10_000;
const RETRY_MS = 50;

/** Watches these kinds from now on. All kinds share one sequence of resource versions. */
export async function recordHistory(inner: Client, kinds: readonly ResourceKind[]): Promise<History> {
  const stopped = new AbortController();
  const { signal } = stopped;
  let changes: Change[] = [];
  let news = Promise.withResolvers<void>();
  const tracks = new Map<string, Track>();
  // `caughtUp` waits for these: the versions that kinds must reach, and the objects that must be deleted.
  const stored = new Map<string, bigint>();
  const removed = new Map<string, { track: Track; uid: string }>();

  // After a restart the server may not know earlier versions: a list shows only the difference.
  const catchUp = async (kind: ResourceKind, track: Track): Promise<string> => {
    const { items, resourceVersion } = await inner.list(kind);
    const unknownSince = track.version;
    const now = new Map(items.map((item) => [item.metadata.uid, item]));
    for (const [uid, object] of track.objects)
      if (!now.has(uid)) changes.push({ version: BigInt(resourceVersion), type: "DELETED", object, unknownSince });
    for (const [uid, object] of now) {
      const before = track.objects.get(uid)?.metadata.resourceVersion;
      const { resourceVersion: version } = object.metadata;
      if (before === version) continue;
      const type = before === undefined ? "ADDED" : "MODIFIED";
      changes.push({ version: BigInt(version), type, object, unknownSince });
    }
    track.objects.clear();
    for (const [uid, object] of now) track.objects.set(uid, object);
    track.version = BigInt(resourceVersion);
    return resourceVersion;
  };
  const follow = async (kind: ResourceKind, track: Track, start: string): Promise<void> => {
    let from = start;
    while (!signal.aborted) {
      try {
        for await (const { type, object } of inner.watch(kind, { resourceVersion: from, signal })) {
          from = object.metadata.resourceVersion;
          track.version = BigInt(from);
          if (type === "DELETED") track.objects.delete(object.metadata.uid);
          else if (type !== "BOOKMARK") track.objects.set(object.metadata.uid, object);
          if (type !== "BOOKMARK") changes.push({ version: track.version, type, object });
          news.resolve();
          news = Promise.withResolvers<void>();
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isApiError(error, "Expired")) from = await catchUp(kind, track);
        else if (isApiError(error, "Unreachable", "Busy", "Timeout", "ServerError")) await sleep(RETRY_MS);
        else throw error;
      }
    }
  };
  const following = kinds.map(async (kind) => {
    const { items, resourceVersion } = await inner.list(kind);
    const track = {
      objects: new Map(items.map((item) => [item.metadata.uid, item])),
      version: BigInt(resourceVersion),
    };
    tracks.set(groupKind(kind.group, kind.kind), track);
    return { following: follow(kind, track, resourceVersion) };
  });
  const followed = await Promise.all(following);

  const note = (object: LiveObject, options: WriteOptions | undefined): LiveObject => {
    // The answer to a dry run may have no version.
    if (options?.dryRun === true) return object;
    const kind = kindOfObject(object.apiVersion, object.kind);
    const version = BigInt(object.metadata.resourceVersion);
    if (tracks.has(kind) && version > (stored.get(kind) ?? 0n)) stored.set(kind, version);
    return object;
  };
  const noteRemoval = (reference: ObjectReference): void => {
    const track = tracks.get(kindOfObject(reference.apiVersion, reference.kind));
    if (track === undefined) return;
    for (const { metadata } of track.objects.values()) {
      if (metadata.name !== reference.name || (metadata.namespace ?? "") !== (reference.namespace ?? "")) continue;
      removed.set(metadata.uid, { track, uid: metadata.uid });
    }
  };
  const isCaughtUp = (): boolean => {
    for (const [uid, { track }] of removed) if (!track.objects.has(uid)) removed.delete(uid);
    for (const [kind, version] of stored) if ((tracks.get(kind)?.version ?? version) < version) return false;
    return removed.size === 0;
  };
  const client: Client = {
    ...inner,
    create: async (object, options) => note(await inner.create(object, options), options),
    update: async (object, options) => note(await inner.update(object, options), options),
    apply: async (object, options) => note(await inner.apply(object, options), options),
    patch: async (reference, type, body, options) => note(await inner.patch(reference, type, body, options), options),
    delete: async (reference, options) => {
      const left = await inner.delete(reference, options);
      if (left === undefined || !hasFinalizers(left)) noteRemoval(reference);
      else note(left, undefined);
      return left;
    },
  };
  return {
    client,
    caughtUp: async () => {
      const end = Date.now() + NEWS_MS;
      while (!isCaughtUp()) {
        if (Date.now() > end) throw new Error(`no changes of ${[...stored.keys(), ...removed.keys()].join(", ")}`);
        await Promise.race([news.promise, sleep(NEWS_MS, undefined, { ref: false })]);
      }
    },
    isCurrent: async () => {
      const lists = await Promise.all(kinds.map(async (kind) => ({ kind, ...(await inner.list(kind)) })));
      return lists.every(({ kind, items }) => {
        const seen = tracks.get(groupKind(kind.group, kind.kind))?.objects;
        return (
          seen?.size === items.length &&
          items.every(
            ({ metadata: { uid, resourceVersion } }) => seen.get(uid)?.metadata.resourceVersion === resourceVersion,
          )
        );
      });
    },
    objects: ({ group, kind }) => {
      const track = tracks.get(groupKind(group, kind));
      return track === undefined ? undefined : [...track.objects.values()];
    },
    all: () => [...tracks.values()].flatMap(({ objects }) => [...objects.values()]),
    of: (id) => changes.filter(({ object }) => isOf(object, id)).toSorted((a, b) => (a.version < b.version ? -1 : 1)),
    forget: (id) => {
      changes = changes.filter(({ object }) => !isOf(object, id));
    },
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      await Promise.allSettled(followed.map((one) => one.following));
    },
  };
}

function groupKind(group: string, kind: string): string {
  return `${group}/${kind}`;
}

function kindOfObject(apiVersion: string, kind: string): string {
  const slash = apiVersion.indexOf("/");
  return groupKind(slash === -1 ? "" : apiVersion.slice(0, slash), kind);
}

function hasFinalizers(object: LiveObject): boolean {
  const finalizers = at(object, "metadata", "finalizers");
  return Array.isArray(finalizers) && finalizers.length > 0;
}

/** Whether an object belongs to the run with this id. */
export function isOf({ metadata }: LiveObject, id: string): boolean {
  return metadata.name.includes(id);
}

/**
 * The violations of guarantees 1, 2 and 6 of docs/concepts/controller.md and of uncounted attempts of Operations, one
 * line each. Skips moments at which not all
 * kinds were watched, such as a restart of the server.
 */
export function violations(changes: readonly Change[]): string[] {
  const lines: string[] = [];
  const live = new Map<string, LiveObject>();
  const gaps = changes.flatMap(({ unknownSince, version }) =>
    unknownSince === undefined ? [] : [{ after: unknownSince, to: version }],
  );
  for (const { type, object, version } of changes) {
    const isKnown = !gaps.some(({ after, to }) => after < version && version <= to);
    const { uid } = object.metadata;
    const report = (what: string): void => {
      lines.push(`at ${version}: ${object.kind} ${object.metadata.name} ${what}`);
    };
    if (isKnown && type === "ADDED") checkCreation(object, live, report);
    if (isKnown && type === "MODIFIED") checkReferences(object, live, report);
    if (isKnown && type === "MODIFIED") checkAttempts(object, live.get(uid), report);
    if (type === "DELETED") live.delete(uid);
    else live.set(uid, object);
  }
  return lines;
}

function checkCreation(
  object: LiveObject,
  live: ReadonlyMap<string, LiveObject>,
  report: (what: string) => void,
): void {
  const entry = entryOf(object);
  const controller = controllerOf(object);
  const uid = textAt(controller, "uid");
  if (entry === undefined || uid === undefined) return;
  if (!isWatched(textAt(controller, "apiVersion"), textAt(controller, "kind"))) return;
  for (const other of live.values()) {
    if (entryOf(other) === entry && textAt(controllerOf(other), "uid") === uid)
      report(`is a second ${entry} in addition to ${other.metadata.name}`);
  }
  const composite = live.get(uid);
  if (composite === undefined) return report("was created after its composite had gone");
  if (!referencesOf(composite).includes(referenceTo(object)))
    report("was created before its composite had a reference");
  if (objectsOrTexts(composite).length === 0) report("was created before its composite had a finalizer");
}

// A reference stays while its object exists and the composite controls it.
function checkReferences(
  composite: LiveObject,
  live: ReadonlyMap<string, LiveObject>,
  report: (what: string) => void,
): void {
  const before = live.get(composite.metadata.uid);
  if (before === undefined) return;
  const current = referencesOf(composite);
  const lost = referencesOf(before).filter((reference) => !current.includes(reference));
  if (lost.length === 0) return;
  for (const other of live.values()) {
    const isOwn = textAt(controllerOf(other), "uid") === composite.metadata.uid;
    if (isOwn && lost.includes(referenceTo(other)))
      report(`lost its reference to ${other.metadata.name}, which still exists`);
  }
}

/** An Operation counts each attempt before it, and does not run after its end. */
function checkAttempts(object: LiveObject, before: LiveObject | undefined, report: (what: string) => void): void {
  if (object.kind !== OPERATIONS.kind || before === undefined) return;
  const count = (one: LiveObject, field: string): number => Number(at(one, "status", field) ?? 0);
  const [attempts, earlier] = [count(object, "attempts"), count(before, "attempts")];
  if (attempts < earlier || attempts > earlier + 1) report(`went from ${earlier} to ${attempts} attempts`);
  const uncounted = attempts > earlier && count(object, "failures") !== earlier;
  if (uncounted) report(`began attempt ${attempts} after ${count(object, "failures")} failures`);
  const hasEnded = objectsAt(before, "status", "conditions").some(
    (one) => one["type"] === "Succeeded" && one["status"] !== "Unknown",
  );
  if (hasEnded && attempts > earlier) report("ran again after its end");
}

function objectsOrTexts(composite: LiveObject): readonly unknown[] {
  const finalizers = at(composite, "metadata", "finalizers");
  return Array.isArray(finalizers) ? finalizers : [];
}

function referencesOf(composite: LiveObject): string[] {
  return objectsAt(composite, ...referencesPath(composite)).map((reference) =>
    describe(reference, textAt(reference, "name")),
  );
}

function referenceTo(object: LiveObject): string {
  return describe(object, object.metadata.name);
}

// Without the version: every version of a kind has the same objects.
function describe(object: JsonObject, name: string | undefined): string {
  const group = (textAt(object, "apiVersion") ?? "").replace(/\/?[^/]*$/, "");
  return `${textAt(object, "kind")} ${group} ${name}`;
}
