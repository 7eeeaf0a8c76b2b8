import type { Layout } from "@xfn/composition";
import type { Definition } from "@xfn/composition/definition";
import { type KubernetesObject } from "@xfn/json";
import type { LiveObject, ObjectReference, ResourceKind } from "@xfn/kubernetes";
import type { AccountRights } from "../../account/account-rights.ts";
import type { ComposingAccounts } from "../../account/composing-accounts.ts";
import type { RequiredSchemas } from "../../functions/required-schemas.ts";
import { type ApplyOptions, type ApplyResult } from "../../objects/apply-cache.ts";
import type { Condition } from "../../objects/conditions.ts";
import type { Context } from "../../objects/context.ts";
import { findLive } from "../../objects/read-objects.ts";
import type { CompositeMemory } from "./composite-memory.ts";
import type { PullSecretCache } from "./pull-secret-cache.ts";
import type { RunSecrets } from "./run-secrets.ts";

/** One reconcile of one XR. */
export interface ReconcileContext extends Context {
  readonly definition: Definition;
  /** The rights that the context's client has; undefined: the controller's own. */
  readonly rights: AccountRights | undefined;
  readonly accounts: ComposingAccounts;
  /** The rights of the selected Composition's account. Undefined: it names none, or none is selected yet. */
  composing: AccountRights | undefined;
  /** Where the XR has the fields that the controller reads and writes. */
  readonly layout: Layout;
  readonly memory: CompositeMemory;
  readonly pullSecrets: PullSecretCache;
  readonly schemas: RequiredSchemas;
  readonly signal: AbortSignal;
  /** The XR as last read or written. */
  xr: LiveObject;
  /** The events of this reconcile, with type, reason and message. */
  readonly emitted: Set<string>;
  /** The values of Secrets that this reconcile read. */
  readonly secrets: RunSecrets;
  readonly progress: ReconcileProgress;
  /** The composed resources after the apply. */
  applied: readonly LiveObject[];
  /** Composed resources that another writer changes back, each as a message. */
  readonly fights: string[];
  /** The conditions that functions set in this reconcile. */
  conditions: readonly Condition[];
}

/** The progress of a reconcile, shared by its contexts with different rights. */
export interface ReconcileProgress {
  /** Whether it has written anything but a status. */
  hasWritten: boolean;
  /** The time until a write that the circuit breaker held back may be sent, in milliseconds. */
  slowedMs: number | undefined;
  /** The kinds of composed resources for which the caches have no space. */
  readonly uncached: Set<string>;
}

/** The same reconcile with the controller's own rights, for what belongs to neither the XR's author nor the XR. */
export function withOwnRights(context: ReconcileContext): ReconcileContext {
  return context.rights === undefined ? context : { ...context, client: context.rights.own };
}

/**
 * The same reconcile with the rights of the Composition's account, for what the Composition reads and composes. The XR
 * in it does not follow later writes of the XR.
 */
export function withComposingRights(context: ReconcileContext): ReconcileContext {
  const { composing } = context;
  if (composing === undefined) return context;
  const { client, composed, required } = composing.context;
  return { ...context, client, composed, required, rights: composing };
}

/** Reads an object from the API server; undefined if it does not exist. */
export async function readLive(context: ReconcileContext, reference: ObjectReference): Promise<LiveObject | undefined> {
  const object = await findLive(context, reference, context.signal);
  if (object !== undefined) context.memory.writes.saw(object);
  return object;
}

/**
 * Reads an object from its cache or from the controller's own writes, whichever is newer. Reads it live if neither
 * has it whole, or if an account may not be allowed to read it: another account may have made those writes.
 */
export async function readKnown(
  context: ReconcileContext,
  kind: ResourceKind,
  reference: ObjectReference,
): Promise<LiveObject | undefined> {
  if (context.rights?.mayRead(kind, reference.namespace) === false) return readLive(context, reference);
  const cache = context.composed?.cache(kind);
  const newest = context.memory.writes.newest(reference, cache?.get(reference.name, reference.namespace));
  if (newest !== undefined && cache?.isWhole(newest) !== false) return newest;
  const live = await readLive(context, reference);
  const isRefused = newest !== undefined && live !== undefined && cache?.complete(live) === false;
  if (isRefused) context.progress.uncached.add(kind.kind);
  return live;
}

/** Applies an intent if it changes the observed object, and records the server's answer. */
export async function applyChanged(
  context: ReconcileContext,
  intent: KubernetesObject,
  observed: LiveObject | undefined,
  options: ApplyOptions,
): Promise<ApplyResult> {
  const { client, memory, progress, signal } = context;
  const result = await memory.applies.apply(client, intent, observed, { ...options, signal });
  if (result.written) {
    memory.writes.saw(result.object);
    progress.hasWritten ||= options.subresource === undefined;
  }
  return result;
}
