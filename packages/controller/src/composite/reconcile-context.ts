import type { Definition } from "@xfn/composition/definition";
import { type KubernetesObject } from "@xfn/functionio";
import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import { type Applied, type ApplyChangedOptions } from "../objects/apply-changed.ts";
import type { Context } from "../objects/context.ts";
import { findLive } from "../objects/read-objects.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import type { PullSecretReader } from "./pull-auth.ts";

/** One reconcile of one XR: what it works with, and what it has to tell. */
export interface Work {
  readonly context: Context;
  readonly definition: Definition;
  readonly memory: CompositeMemory;
  readonly pullSecrets: PullSecretReader;
  readonly signal: AbortSignal;
  /** The XR as it is known to be: newer after each write. */
  xr: LiveObject;
  /** What is told by events, in order, with `reason` and `message`. */
  readonly said: Set<string>;
  /** Whether something was written, the status apart. */
  wrote: boolean;
}

/** A function may have any number of results; nobody reads more events of one object. */
const MAX_TOLD = 100;

/** Tells users something of the XR, unless the last reconcile has told it. */
export function tell(work: Work, type: "Normal" | "Warning", reason: string, message: string): void {
  const text = `${type} ${reason} ${message}`;
  if (work.said.has(text) || work.said.size >= MAX_TOLD) return;
  work.said.add(text);
  if (!work.memory.said.has(text)) work.context.events.record(work.xr, { type, reason, message });
}

/** An object as the server has it now; undefined if there is none. */
export async function readLive(work: Work, reference: ObjectReference): Promise<LiveObject | undefined> {
  const object = await findLive(work.context, reference, work.signal);
  if (object !== undefined) work.memory.own.saw(object);
  return object;
}

/** An object as it is known to be: as a cache or a write of ours has it; what neither has is read live. */
export async function readKnown(
  work: Work,
  kind: ResourceKind,
  reference: ObjectReference,
): Promise<LiveObject | undefined> {
  const cached = work.context.composed?.cache(kind)?.get(reference.name, reference.namespace);
  return work.memory.own.newest(reference, cached) ?? (await readLive(work, reference));
}

/** Applies what differs, and remembers what the server made of it. */
export async function applyChanged(
  work: Work,
  intent: KubernetesObject,
  observed: LiveObject | undefined,
  options: ApplyChangedOptions,
): Promise<Applied> {
  const { context, memory, signal } = work;
  const applied = await memory.applied.apply(context.client, intent, observed, { ...options, signal });
  if (applied.written) {
    memory.own.saw(applied.object);
    work.wrote ||= options.subresource === undefined;
  }
  return applied;
}
