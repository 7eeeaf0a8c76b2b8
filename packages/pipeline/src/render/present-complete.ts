import { type Layout, machineryOf, specWith } from "@xfn/composition";
import { SYSTEM_CONDITIONS } from "@xfn/functionio";
import { isObject, type JsonObject, type KubernetesObject, listAt, objectAt, textOrEmpty, valueAt } from "@xfn/json";
import { type CompositeResource, identityOf } from "../observed/observed-entries.ts";
import type { StepCondition } from "../outcome/step-condition.ts";
import type { StepResult } from "../outcome/step-result.ts";
import type { PipelineResult } from "../steps/run-pipeline.ts";
import { conditionsOf, type SetCondition, setConditions, withConditionTimes } from "./complete-conditions.ts";
import { composeError, ready, synced } from "./conditions.ts";
import { merge } from "./merge.ts";
import { generationOf, referenceTo } from "./reconciled.ts";
import type { RenderResult } from "./render-types.ts";

/** A render of `mode: Pipeline`, ready to present. */
export interface CompleteRender {
  run: PipelineResult;
  /** The XR of the input. The run has it as {@link reconciled} made it. */
  given: CompositeResource;
  layout: Layout;
}

/**
 * Presents a run of `mode: Pipeline` like `crossplane render` 2: the XR as its controller would leave it, composed
 * resources with their names, and the events of the reconcile as results.
 */
export function presentComplete({ run, given, layout }: CompleteRender): RenderResult {
  const composite = run.fatal === undefined ? composed(run, layout) : failed(run, run.fatal, layout);
  const { context, fatal } = run;
  return {
    composite,
    fullComposite: merge(given, composite),
    resources: run.composed.map((one) => withConditionTimes(one.resource)),
    deleted: run.deleted,
    unready: run.unready,
    results: run.results,
    events: eventsOf(run, given, layout),
    connectionDetails: run.connectionDetails,
    exposedByFunctions: run.connectionDetails.names,
    ...(context && fatal === undefined && { context }),
    ...(fatal && { fatal }),
  };
}

function composed(run: PipelineResult, layout: Layout): KubernetesObject {
  const { composite, desired } = run;
  const own = objectAt(desired.composite?.resource, "status");
  // As in Crossplane, the observed conditions stay: functions set others.
  const observed = conditionsOf(composite["status"]).map(asSet);
  const readiness = run.ready === undefined ? ready(run.unready) : ready([], run.ready);
  const conditions = setConditions(conditionsOf(own), [...observed, ...run.conditions, synced(), readiness]);
  const { namespace } = composite.metadata;
  const resourceRefs = run.composed.map(({ resource }) => referenceTo(resource, namespace)).toSorted(compareReferences);
  return withConditionTimes({
    ...identityOf(composite),
    spec: specWith({}, { resourceRefs }, layout),
    status: { ...own, ...claimConditions(own, run.conditions, layout), conditions },
  });
}

/** The XR after a fatal result: its status, with the conditions that functions set before. */
function failed(run: PipelineResult, fatal: StepResult, layout: Layout): KubernetesObject {
  const { composite, conditions: set } = run;
  const own = objectAt(composite, "status");
  const failure = { ...synced(composeError(fatal)), ...generationOf(composite) };
  const known = setConditions(conditionsOf(own), [failure, ...set]);
  const seen = new Set(set.map(({ type }) => type));
  const unknown = known.map(asSet).filter(({ type }) => !SYSTEM_CONDITIONS.has(type) && !seen.has(type));
  const conditions = setConditions(
    known,
    unknown.map(({ type }) => ({
      type,
      status: "Unknown",
      reason: "FatalError",
      message: "A fatal error occurred before the status of this condition could be determined.",
      ...generationOf(composite),
    })),
  );
  return withConditionTimes({
    ...identityOf(composite),
    status: { ...own, ...claimConditions(own, set, layout), conditions },
  });
}

function asSet(condition: JsonObject): SetCondition {
  const { message, observedGeneration } = condition;
  return {
    type: textOrEmpty(condition, "type"),
    status: textOrEmpty(condition, "status"),
    reason: textOrEmpty(condition, "reason"),
    ...(typeof message === "string" && { message }),
    ...(typeof observedGeneration === "number" && { observedGeneration }),
  };
}

/** Claims, which only the XRs of Crossplane 1 have, show these conditions too. */
function claimConditions(status: JsonObject, conditions: readonly StepCondition[], { isLegacy }: Layout): JsonObject {
  const shown = conditions.filter(({ target }) => target === "CompositeAndClaim").map(({ type }) => type);
  if (!isLegacy || shown.length === 0) return {};
  return { claimConditionTypes: [...new Set([...listAt(status, "claimConditionTypes"), ...shown])] };
}

function eventsOf(run: PipelineResult, given: CompositeResource, layout: Layout): StepResult[] {
  const { fatal } = run;
  const said = run.functionResults
    .filter((result) => result !== fatal)
    .map(({ severity, message, reason, step }) => ({
      severity,
      message: step === undefined ? message : `Pipeline step ${JSON.stringify(step)}: ${message}`,
      reason: reason || COMPOSE,
    }));
  const unready = run.composed
    .filter((one) => !one.ready)
    .map(({ name }) => normal(COMPOSE, `Composed resource ${JSON.stringify(name)} is not yet ready`));
  return [
    ...selection(run.composite, given, layout),
    ...(fatal === undefined ? [] : [{ severity: "Warning" as const, reason: COMPOSE, message: composeError(fatal) }]),
    ...said,
    ...unready,
  ];
}

const COMPOSE = "ComposeResources";

function selection(composite: CompositeResource, given: CompositeResource, layout: Layout): StepResult[] {
  const before = machineryOf(given, layout)["compositionRef"];
  const after = machineryOf(composite, layout)["compositionRef"];
  if (isObject(before) && before["name"] === valueAt(after, "name") && Object.keys(before).length === 1) return [];
  return [normal("SelectComposition", `Successfully selected composition: ${textOrEmpty(after, "name")}`)];
}

function normal(reason: string, message: string): StepResult {
  return { severity: "Normal", reason, message };
}

function compareReferences(a: JsonObject, b: JsonObject): number {
  const [left, right] = [keyOf(a), keyOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function keyOf({ apiVersion = "", kind = "", name = "", namespace = "" }: JsonObject): string {
  return [apiVersion, kind, name, namespace].map(String).join("");
}
