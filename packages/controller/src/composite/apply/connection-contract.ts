import { type Composition, checkConnectionKeys } from "@xfn/composition";
import { someOf } from "@xfn/errors";
import { type Backoff, pauseAfter } from "@xfn/lifetime";
import type { PipelineResult } from "@xfn/pipeline";
import type { Condition } from "../../objects/conditions.ts";
import { secretReferenceOf } from "../../objects/connection-secrets.ts";
import type { Subject } from "../state/composite-port.ts";
import type { Shown } from "../state/shown.ts";

/** The number of keys that a message names. */
const MAX_NAMED = 10;

/**
 * Back-off while the connection secret of a composed resource lacks a promised key. Such Secrets are not watched. A
 * provider writes them within seconds, and a key that never appears must not cause calls of functions forever.
 */
const DETAILS_BACKOFF: Backoff = { firstMs: 2_000, longestMs: 60_000 };

/** The condition of an XR whose resources are ready, but have not provided all connection details yet. */
function awaited(shown: Shown, { memory }: Subject, keys: readonly string[]): Condition {
  shown.slow(pauseAfter(++memory.awaits, DETAILS_BACKOFF));
  const names = someOf(
    keys.map((key) => JSON.stringify(key)),
    MAX_NAMED,
  );
  const message = `the connection details ${names} have no value yet: the composed resources must provide them`;
  return { type: "Ready", status: "False", reason: "Creating", message };
}

/**
 * The condition `Ready` of an XR that breaks the contract of its InfrastructureDefinition. The Composition must expose
 * each connection key exactly once, and its resources must have provided all of them. Undefined if the contract holds.
 *
 * Crossplane does not enforce the connectionSecretKeys of a CompositeResourceDefinition: several templates may write
 * one key, and the last one wins. Such an XR gets an event, and remains ready.
 */
export function brokenContract(
  shown: Shown,
  subject: Subject,
  composition: Composition,
  { connectionDetails }: Pick<PipelineResult, "connectionDetails">,
): Condition | undefined {
  const { definition, layout, memory, xr } = subject;
  const { connectionSecretKeys: keys } = definition.spec;
  if (keys.length === 0) return undefined;
  const isEnforced = definition.kind === "InfrastructureDefinition";
  if (!isEnforced && secretReferenceOf(xr, layout) === undefined) return undefined;
  const names = [...connectionDetails].map(([name]) => name);
  const broken = checkConnectionKeys(composition, keys, undefined, names)
    .filter(({ code }) => code === "Duplicate" || code === "Required")
    .map(({ message }) => message);
  const missing = keys.filter((key) => !names.includes(key));
  if (missing.length === 0) memory.awaits = 0;
  if (broken.length === 0) return isEnforced && missing.length > 0 ? awaited(shown, subject, missing) : undefined;
  const { name = "" } = composition.metadata;
  const message = `${broken.join("; ")}: the Composition ${name} breaks the connection contract of its definition`;
  shown.warn(message, "PublishConnectionSecret");
  if (!isEnforced) return undefined;
  return { type: "Ready", status: "False", reason: "ConnectionContract", message };
}
