import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, objectsAt, textOrEmpty, valueAt } from "@xfn/json";
import { type Client, isApiError, type LiveObject } from "@xfn/kubernetes";
import { CliError } from "../errors/cli-error.ts";
import { type PackageObject, printed, referenceOf } from "./package-object.ts";

/** A package takes seconds: its image is pulled, and its CRDs are established. */
const CHECK_MS = 500;

const WANTED = ["Installed", "Healthy"] as const;

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called before each check. */
  readonly onCheck: () => void;
  /** Called with each condition that is false, with its reason, and again after a change. */
  readonly onProblem?: (condition: string) => void;
}

/**
 * Waits until the package is installed and healthy, with the reference that the object names now.
 *
 * @throws CliError `Failed` after the time, with the conditions; and at once if the object is gone
 */
export async function waitForPackage(
  client: Client,
  object: PackageObject,
  { timeoutMs, signal, onCheck, onProblem }: WaitOptions,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  let shown: readonly string[] = [];
  for (;;) {
    onCheck();
    const live = await read(client, object, signal);
    if (isReady(live)) return;
    const problems = problemsOf(live);
    for (const one of problems) if (!shown.includes(one)) onProblem?.(one);
    shown = problems;
    if (performance.now() >= end) {
      const details = describeConditions(live);
      const hint = `\`kubectl describe ${printed(object)}\` shows the events of the package`;
      throw new CliError("Failed", `${printed(object)} is not healthy yet: --wait is over`, {
        details: [...details, hint],
      });
    }
    await sleep(CHECK_MS, undefined, { signal });
  }
}

async function read(client: Client, object: PackageObject, signal: AbortSignal): Promise<LiveObject> {
  try {
    return await client.get(referenceOf(object), { signal });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
    throw new CliError("Failed", `${printed(object)} was deleted meanwhile`, { cause: error });
  }
}

/** Whether all conditions are true, and are of the object's present spec. */
function isReady(live: LiveObject): boolean {
  const { spec, status } = live;
  const generation = live.metadata["generation"];
  const conditions = conditionsOf(live);
  const areTrue = WANTED.every((type) =>
    conditions.some(
      (condition) =>
        condition["type"] === type &&
        condition["status"] === "True" &&
        // Older Crossplanes write none.
        (condition["observedGeneration"] === undefined || condition["observedGeneration"] === generation),
    ),
  );
  // The reference of the revision. An ImageConfig may have rewritten it.
  const wanted = [valueAt(spec, "package"), valueAt(status, "resolvedPackage")];
  const current = valueAt(status, "currentIdentifier");
  return areTrue && (current === undefined || wanted.includes(current));
}

function problemsOf(live: LiveObject): string[] {
  return conditionsOf(live)
    .filter(({ status }) => status === "False")
    .map(describeCondition);
}

function describeConditions(live: LiveObject): string[] {
  const conditions = conditionsOf(live);
  if (conditions.length === 0) return ["it has no conditions: no controller of packages has seen it"];
  return conditions.map(describeCondition);
}

function describeCondition(condition: JsonObject): string {
  const [type, status, reason, message] = ["type", "status", "reason", "message"].map((field) =>
    textOrEmpty(condition, field),
  );
  return `${type}=${status} (${message === "" ? reason : `${reason}: ${message}`})`;
}

function conditionsOf({ status }: LiveObject): readonly JsonObject[] {
  return objectsAt(status, "conditions");
}
