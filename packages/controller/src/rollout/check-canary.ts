import { type Layout, machineryOf } from "@xfn/composition";
import { isObject, type JsonObject, textAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { conditionOf, RECONCILE_ERROR } from "../objects/conditions.ts";
import { shortened } from "../objects/shortened.ts";

/** A canary to check. */
export interface CanaryInput {
  /** The XRs that the canary takes. */
  readonly xrs: readonly LiveObject[];
  readonly layout: Layout;
  /** The name of the revision. */
  readonly revision: string;
  /** When the canary began, and its end: milliseconds since the epoch. */
  readonly since: number;
  readonly until: number;
  readonly now: number;
  readonly maxFailures: number;
}

/** The state of a canary, with its reason. */
export interface Verdict {
  readonly verdict: "Wait" | "Failed" | "Passed";
  readonly message: string;
}

/** An outage of the API server at the end of a canary is not the revision's fault, unless it lasts. */
const OUTAGE_MS = 60_000;
const MAX_NAMED = 3;
const MAX_PROBLEM = 200;

/**
 * Checks a canary by the conditions of its XRs. A fatal result fails it at once. Other problems count at the end,
 * because an XR is unready for a moment after most changes. XRs that are newer than the canary do not count, nor do
 * those that had a problem before it.
 */
export function checkCanary(input: CanaryInput): Verdict {
  const { xrs, since, until, now, maxFailures } = input;
  const watched = xrs.filter((xr) => wasHealthy(xr, since));
  const problems = watched.flatMap((xr) => problemOf(xr, input) ?? []);
  const outages = problems.filter(({ isOutage }) => isOutage && now < until + OUTAGE_MS);
  const failed = problems.filter((problem) => !outages.includes(problem));
  const fatal = failed.filter(({ isFatal }) => isFatal);
  if (fatal.length > maxFailures) return { verdict: "Failed", message: describe(fatal) };
  if (now < until) return { verdict: "Wait", message: `watches ${counted(watched.length)}` };
  if (watched.length === 0) {
    const message =
      "no composite resource in the canary was ready before; make one ready, or add one that is, by its label";
    return { verdict: "Wait", message };
  }
  if (failed.length > maxFailures) return { verdict: "Failed", message: describe(failed) };
  if (outages.length > 0) return { verdict: "Wait", message: `waits for the API server: ${describe(outages)}` };
  const pending = watched.filter((xr) => isPending(xr, input));
  if (pending.length > maxFailures)
    return {
      verdict: "Wait",
      message: `waits until ${counted(pending.length)} ${pending.length === 1 ? "uses" : "use"} the revision`,
    };
  const ready = watched.length - failed.length;
  return { verdict: "Passed", message: `${counted(ready)} ${ready === 1 ? "is" : "are"} ready` };
}

function counted(number: number): string {
  return `${number} composite resource${number === 1 ? "" : "s"}`;
}

/** Whether an XR is synced and ready. */
export function isHealthy(xr: LiveObject): boolean {
  return ["Synced", "Ready"].every((type) => conditionOf(xr, type)?.["status"] === "True");
}

function wasHealthy(xr: LiveObject, since: number): boolean {
  // Times are in seconds.
  const isOlder = timeOf(xr.metadata["creationTimestamp"]) <= since;
  return isOlder && ["Synced", "Ready"].every((type) => isNoOldProblem(conditionOf(xr, type), since));
}

/** The transition time of a condition only changes with its status. */
function isNoOldProblem(condition: JsonObject | undefined, since: number): boolean {
  if (!isObject(condition)) return false;
  return condition["status"] === "True" || timeOf(condition["lastTransitionTime"]) >= since;
}

interface Problem {
  readonly name: string;
  readonly text: string;
  readonly isFatal: boolean;
  /** Whether the API server failed, and not the revision. */
  readonly isOutage: boolean;
}

function problemOf(xr: LiveObject, input: CanaryInput): Problem | undefined {
  for (const type of ["Synced", "Ready"]) {
    // An XR that does not use the revision yet was not made unready by it. A failed run is of the revision.
    if (type === "Ready" && isPending(xr, input)) return undefined;
    const condition = conditionOf(xr, type);
    if (condition?.["status"] === "True") continue;
    const reason = textAt(condition, "reason") ?? "no such condition";
    const message = shortened(textAt(condition, "message") ?? "", MAX_PROBLEM);
    const text = `${type} is not True: ${reason}${message === "" ? "" : `: ${message}`}`;
    const because = (code: string): boolean =>
      type === "Synced" && reason === RECONCILE_ERROR && message.startsWith(`${code}: `);
    return { name: xr.metadata.name, text, isFatal: because("FatalResult"), isOutage: because("ApiServer") };
  }
  return undefined;
}

/** Whether the conditions of an XR are of an earlier revision. The write of its revision changes the generation. */
function isPending(xr: LiveObject, { layout, revision }: CanaryInput): boolean {
  if (textAt(machineryOf(xr, layout), "compositionRevisionRef", "name") !== revision) return true;
  return Number(conditionOf(xr, "Synced")?.["observedGeneration"]) !== Number(xr.metadata["generation"]);
}

function describe(problems: readonly Problem[]): string {
  const named = problems.slice(0, MAX_NAMED).map(({ name, text }) => `${name}: ${text}`);
  const more = problems.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function timeOf(value: unknown): number {
  return typeof value === "string" ? Date.parse(value) : Number.NaN;
}
