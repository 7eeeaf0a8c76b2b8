import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { printJson } from "@xfn/functionio/document";
import { isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import { escapeControls, oneLine } from "@xfn/program/terminal-text";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import { CliError } from "../errors/cli-error.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn rollout`, as commander parsed them. */
export interface RolloutFlags extends ClusterFlags {
  readonly output?: "text" | "json";
}

const CROSSPLANE = { group: "apiextensions.crossplane.io", version: "v1", namespaced: false } as const;
const COMPOSITION = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" } as const;
const REVISIONS: ResourceKind = { ...CROSSPLANE, kind: "CompositionRevision", plural: "compositionrevisions" };

/**
 * `xfn rollout`: prints the rollout of a Composition's newest revision, with what it would change. The controller has
 * masked secret values already.
 *
 * @throws CliError `Failed` if there is no such Composition
 */
export async function runRollout(name: string, flags: RolloutFlags, output: Output): Promise<number> {
  const read = (signal: AbortSignal): Promise<string> =>
    withCluster(flags, async (client) => {
      try {
        await client.get({ ...COMPOSITION, name }, { signal });
      } catch (error) {
        if (!isApiError(error, "NotFound")) throw error;
        const hint = "`kubectl get compositions` lists them";
        throw new CliError("Failed", `there is no Composition ${name}`, { details: [hint], cause: error });
      }
      const { items } = await client.list(REVISIONS, { signal });
      const newest = items
        .filter((one) => isOf(one, name))
        .toSorted((a, b) => numberOf(b) - numberOf(a))
        .at(0);
      return flags.output === "json" ? json(name, newest) : text(name, newest);
    });
  const title = `reading the rollout of ${oneLine(name, 200)}`;
  await output.product(
    await interruptible((signal) =>
      withElapsedTime(
        output,
        () => title,
        () => read(signal),
      ),
    ),
  );
  return ExitCode.ok;
}

function isOf({ metadata }: LiveObject, composition: string): boolean {
  const owners = listOf(metadata["ownerReferences"]);
  return owners.some((one) => one["controller"] === true && one["name"] === composition);
}

function json(composition: string, revision: LiveObject | undefined): string {
  const document: JsonObject = {
    composition,
    revision: revision === undefined ? null : { name: revision.metadata.name, number: numberOf(revision) },
    rollout: revision === undefined ? null : (rolloutOf(revision) ?? null),
  };
  return `${printJson(document, 2)}\n`;
}

function text(composition: string, revision: LiveObject | undefined): string {
  const lines = [`Composition ${composition}`];
  const rollout = revision && rolloutOf(revision);
  if (revision === undefined) lines.push("  has no revision yet");
  else if (rollout === undefined) lines.push(`  ${titleOf(revision)}: no rollout, all composite resources may use it`);
  else {
    lines.push(`  ${titleOf(revision)}: ${show(rollout["phase"])}: ${show(rollout["message"])}`);
    if (rollout["from"] !== undefined) lines.push(`  earlier revision: ${show(rollout["from"])}`);
    for (const one of listOf(rollout["shadow"])) lines.push(...shadowLines(one));
  }
  return `${lines.join("\n")}\n`;
}

function shadowLines(one: JsonObject): string[] {
  const namespace = one["namespace"] === undefined ? "" : `${show(one["namespace"])}/`;
  const title = `  in shadow, ${namespace}${show(one["name"])}`;
  if (one["error"] !== undefined) return [`${title} failed: ${show(one["error"])}`];
  const found = listOf(one["differences"]);
  if (found.length === 0) return [`${title} would stay the same`];
  const lines = found.map(({ resource, path, applied, desired }) => {
    const place = [show(resource), ...(path === "" ? [] : [show(path)])].join(" ");
    const values = [applied, desired].map((value) => (value === undefined ? "(none)" : show(value)));
    return `    ${place}: ${values.join(" -> ")}`;
  });
  const { omitted } = one;
  return [`${title} would change:`, ...lines, ...(omitted === undefined ? [] : [`    and ${show(omitted)} more`])];
}

function titleOf(revision: LiveObject): string {
  return `revision ${numberOf(revision)} (${revision.metadata.name})`;
}

/** The rollout of a revision; undefined if it has none. */
function rolloutOf({ status }: LiveObject): JsonObject | undefined {
  const rollout = isObject(status) ? status["rollout"] : undefined;
  return isObject(rollout) ? rollout : undefined;
}

function numberOf({ spec }: LiveObject): number {
  return isObject(spec) ? Number(spec["revision"]) : 0;
}

function listOf(value: JsonValue | undefined): JsonObject[] {
  return (Array.isArray(value) ? value : []).filter(isObject);
}

/** A text of the cluster, safe for a terminal. */
function show(value: JsonValue | undefined): string {
  return escapeControls(typeof value === "string" ? value : printJson(value ?? null)).replaceAll("\n", "\\n");
}
