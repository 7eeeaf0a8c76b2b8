import { claimFieldOf } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { StepResult } from "@xfn/pipeline";
import type { Condition } from "../../objects/conditions.ts";
import type { Context } from "../../objects/context.ts";
import { claimKindOf } from "../../objects/definition-kinds.ts";
import { describeReference, referenceTo } from "../../objects/references.ts";
import type { ReconcileContext } from "./reconcile-context.ts";

/** The events of one reconcile. More would hide those of other objects, and fill the API server. */
const MAX_EVENTS = 100;

/**
 * The results of one run that have an event. A function can return any number of results, and other ones in each run.
 * docs/concepts/controller.md has the number.
 */
const MAX_RESULTS = 20;

/** Emits an event about the XR, unless the last reconcile emitted the same one. */
export function emitEvent(
  context: ReconcileContext,
  type: "Normal" | "Warning",
  message: string,
  reason = "ComposeResources",
): void {
  emitOnce(context, context.xr, { type, reason, message });
}

/** Emits an event about the XR's claim, if it has one, unless the last reconcile emitted the same one. */
function emitClaimEvent(
  context: ReconcileContext,
  type: "Normal" | "Warning",
  message: string,
  reason = "ComposeResources",
): void {
  const { definition, informers, xr } = context;
  const kind = claimKindOf(definition);
  const [name, namespace] = ["name", "namespace"].map((field) => textAt(xr, "spec", claimFieldOf(definition), field));
  const claim = kind && name && informers.peek(kind)?.get(name, namespace);
  if (claim) emitOnce(context, claim, { type, reason, message });
}

/** Emits the first distinct results of a run as events, and an event about the number of the others. */
export function emitResults(context: ReconcileContext, results: readonly StepResult[]): void {
  const distinct = [...new Map(results.map((one) => [JSON.stringify(one), one])).values()];
  for (const result of distinct.slice(0, MAX_RESULTS)) emitResult(context, result);
  const left = distinct.length - MAX_RESULTS;
  if (left <= 0) return;
  const message = `the run returned ${left} more results, which have no event; make the functions return fewer`;
  emitEvent(context, "Warning", message);
}

/** Emits a result of a step, or of the pipeline, as an event. */
export function emitResult(context: ReconcileContext, result: StepResult): void {
  const { severity, message, step, target } = result;
  const reason = result.reason !== undefined && context.secrets.isIn(result.reason) ? undefined : result.reason;
  const text = step === undefined ? message : `Pipeline step ${JSON.stringify(step)}: ${message}`;
  const type = severity === "Normal" ? "Normal" : "Warning";
  emitEvent(context, type, text, reason);
  if (target === "CompositeAndClaim") emitClaimEvent(context, type, text, reason);
}

/**
 * The conditions that functions set, without values of Secrets. Emits an event if one is left out: see
 * {@link RunSecrets.scrubConditions}.
 */
export function shownConditions<T extends Condition>(context: ReconcileContext, conditions: readonly T[]): T[] {
  const shown = context.secrets.scrubConditions(conditions);
  if (shown.length < conditions.length) {
    const message =
      "a condition that a function sets is left out: its type or reason contains a value of a Secret; " +
      "let the function set fixed words";
    emitEvent(context, "Warning", message);
  }
  return shown;
}

/** Emits an event on both objects: the owner of an adopted object may not read the XR. */
export function emitAdoption(context: ReconcileContext, role: string, object: LiveObject): void {
  const title = describeReference(referenceTo(object));
  const message = `adopted ${title} as ${role}: it existed without a controller`;
  emitEvent(context, "Warning", message, "AdoptResource");
  const { kind, metadata } = context.xr;
  const adopted = `adopted by ${kind} ${metadata.name}, which changes and deletes this object from now on`;
  context.events.record(object, { type: "Warning", reason: "AdoptResource", message: adopted });
}

function emitOnce(
  { emitted, events, memory, secrets }: ReconcileContext,
  about: LiveObject,
  { type, reason, message }: Parameters<Context["events"]["record"]>[1],
): void {
  // Any message can quote a function, a server or a composed resource.
  const event = { type, reason, message: secrets.scrub(message) };
  const text = [about.kind, event.type, event.reason, event.message].join(" ");
  if (emitted.has(text) || emitted.size >= MAX_EVENTS) return;
  emitted.add(text);
  if (!memory.events.has(text)) events.record(about, event);
}
