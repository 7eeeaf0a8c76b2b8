import { closest } from "@xfn/composition";
import { someOf } from "@xfn/errors";
import type { KubernetesObject } from "@xfn/json";
import type { StepResult } from "../outcome/step-result.ts";
import type { Rendering } from "./rendering.ts";

/** The number of names in a message. More would hide its subject. */
const MAX_LISTED = 30;

/** The kind and name of an object. */
export function describe({ kind, metadata }: KubernetesObject): string {
  const name = metadata?.name ?? (metadata?.generateName === undefined ? undefined : `${metadata.generateName}*`);
  return name === undefined ? `${kind}` : `${kind} ${name}`;
}

/** Explains why a name is not composed, and lists the composed names. */
export function whyMissing(rendering: Rendering, name: string): string {
  const { fatal, deleted, names } = rendering;
  if (fatal !== undefined) return `but ${ended(fatal)}`;
  if (deleted.includes(name)) return "but it is desired to be deleted";
  const composed = names.map((one) => `  ${one}: ${describe(rendering.resource(one) ?? {})}`);
  const there =
    composed.length === 0
      ? ["but nothing is composed"]
      : [`but it is not${didYouMean(name, names)}`, "Composed:", lines(composed)];
  return [...there, ...warningsOf(rendering)].join("\n");
}

/** Explains why an XR or one of its resources is not ready. */
export function whyUnready(rendering: Rendering, name: string | undefined): string {
  const { fatal, unready } = rendering;
  if (fatal !== undefined) return `  ${ended(fatal)}`;
  const names = name === undefined ? unready : [name];
  const reasons = names.map((one) => {
    const all = rendering.reasons(one);
    const resource = rendering.resource(one);
    const title = `  ${one}${resource === undefined ? "" : ` (${describe(resource)})`}`;
    return `${title}: ${all.length === 0 ? "not ready" : all.join("\n    and ")}`;
  });
  return [reasons.length === 0 ? "  its condition Ready is not True" : lines(reasons), ...warningsOf(rendering)].join(
    "\n",
  );
}

/** Adds warnings, which often explain a failure. */
function warningsOf({ results }: Rendering): string[] {
  const warnings = results.filter(({ severity }) => severity === "Warning");
  return warnings.length === 0 ? [] : ["Warnings:", describeResults(warnings)];
}

/** One line for each result. */
export function describeResults(results: readonly StepResult[]): string {
  return lines(
    results.map(
      ({ severity, step, message }) => `  ${severity}${step === undefined ? "" : ` (step ${step})`}: ${message}`,
    ),
  );
}

/** A message for a run that ended early. */
export function ended({ step, message }: StepResult): string {
  return `${step === undefined ? "the run" : `step "${step}"`} ended in a fatal result, after which nothing is composed: ${message}`;
}

export function listed(names: readonly string[]): string {
  return names.length === 0 ? "none" : someOf(names, MAX_LISTED);
}

/** Suggests similar names. */
export function didYouMean(name: string, names: readonly string[]): string {
  const meant = closest(name, names);
  return meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
}

function lines(all: readonly string[]): string {
  const more = all.length - MAX_LISTED;
  return [...all.slice(0, MAX_LISTED), ...(more > 0 ? [`  and ${more} more`] : [])].join("\n");
}
