import { setTimeout as sleep } from "node:timers/promises";
import { isObject, type JsonObject, type JsonValue, listAt, objectsAt, valueAt } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { type Client, isApiError, type LiveObject, type ResourceKind } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import { escapeControls, oneLine } from "@xfn/program/terminal-text";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import { CliError } from "../errors/cli-error.ts";
import { colours } from "../terminal/colours.ts";
import { withElapsedTime } from "../terminal/elapsed-time.ts";
import { endedByCtrlC } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn rollout`, as commander parsed them. */
export interface RolloutFlags extends ClusterFlags {
  readonly output?: "text" | "json";
  /** Prints the report again after each change, until the rollout has ended. */
  readonly watch?: boolean;
}

/** Phases that do not change by themselves. */
const ENDED: readonly string[] = ["Complete", "RolledBack", "Superseded", ""];

const CROSSPLANE = { group: "apiextensions.crossplane.io", version: "v1", namespaced: false } as const;
const COMPOSITION = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" } as const;
const REVISIONS: ResourceKind = { ...CROSSPLANE, kind: "CompositionRevision", plural: "compositionrevisions" };

/** Between two looks of `--watch`. */
const WATCH_MS = 1_000;

/**
 * `xfn rollout`: prints the rollout of a Composition's newest revision, with what it would change. The controller has
 * masked secret values already. With `--watch` prints it again after each change, until the rollout has ended.
 *
 * @throws CliError `Failed` if there is no such Composition
 */
export async function runRollout(name: string, flags: RolloutFlags, output: Output): Promise<number> {
  const title = `reading the rollout of ${oneLine(name, 200)}`;
  return await endedByCtrlC(flags.watch === true, (signal) =>
    withCluster(flags, async (client) => {
      let last: string | undefined;
      for (;;) {
        let revision: LiveObject | undefined;
        try {
          revision = await withElapsedTime(output, title, () => newestRevision(client, name, signal));
        } catch (error) {
          if (last === undefined || !isApiError(error) || !error.retryable || signal.aborted) throw error;
          await sleep(WATCH_MS, undefined, { signal });
          continue;
        }
        const phase = revision && show(rolloutOf(revision)?.["phase"] ?? "");
        // The remaining time differs at each poll, so it does not count as a change.
        const key = printJson([
          revision?.metadata.name ?? null,
          revision === undefined ? null : (rolloutOf(revision) ?? null),
        ]);
        if (key !== last) {
          const again = last === undefined || flags.output === "json" ? "" : "\n";
          const shown =
            flags.output === "json" ? json(name, revision) : again + text(name, revision, colours(process.stdout));
          await output.product(shown);
        }
        last = key;
        if (flags.watch !== true || (phase !== undefined && ENDED.includes(phase))) return ExitCode.ok;
        await sleep(WATCH_MS, undefined, { signal });
      }
    }),
  );
}

async function newestRevision(client: Client, name: string, signal: AbortSignal): Promise<LiveObject | undefined> {
  try {
    await client.get({ ...COMPOSITION, name }, { signal });
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
    const hint = "`kubectl get compositions` lists them";
    throw new CliError("Failed", `there is no Composition ${name}`, { details: [hint], cause: error });
  }
  const { items } = await client.list(REVISIONS, { signal });
  return items
    .filter((one) => isOf(one, name))
    .toSorted((a, b) => numberOf(b) - numberOf(a))
    .at(0);
}

function isOf({ metadata }: LiveObject, composition: string): boolean {
  const owners = objectsAt(metadata["ownerReferences"]);
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

/** The report for a person. @param now milliseconds since the epoch, for the time left */
export function text(
  composition: string,
  revision: LiveObject | undefined,
  paint: ReturnType<typeof colours>,
  now: number = Date.now(),
): string {
  const lines = [paint.bold(`Composition ${composition}`)];
  const rollout = revision && rolloutOf(revision);
  if (revision === undefined) lines.push("  has no revision yet");
  else if (rollout === undefined) lines.push(`  ${titleOf(revision)}: no rollout, all composite resources may use it`);
  else {
    const phase = show(rollout["phase"]);
    const colour = phase === "Complete" ? paint.green : phase === "RolledBack" ? paint.red : paint.yellow;
    const message = show(rollout["message"]);
    lines.push(`  ${titleOf(revision)}: ${colour(phase)}: ${message}`);
    if (phase === "Canary") lines.push(...canaryLines(rollout, now));
    if (rollout["from"] !== undefined) lines.push(`  earlier revision: ${show(rollout["from"])}`);
    for (const one of objectsAt(rollout["shadow"])) lines.push(...shadowLines(one, message, paint));
  }
  return `${lines.join("\n")}\n`;
}

function canaryLines({ canary, canaryUntil }: JsonObject, now: number): string[] {
  const names = listAt(canary, "composites").map(show);
  const omitted = valueAt(canary, "omitted");
  const more = omitted === undefined ? "" : ` and ${show(omitted)} more`;
  const left = typeof canaryUntil === "string" ? Date.parse(canaryUntil) - now : Number.NaN;
  return [
    ...(names.length === 0 ? [] : [`  in the canary: ${names.join(", ")}${more}`]),
    ...(left > 0 ? [`  time left: ${timeLeft(left)}`] : []),
  ];
}

function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function shadowLines(one: JsonObject, message: string, paint: ReturnType<typeof colours>): string[] {
  const namespace = one["namespace"] === undefined ? "" : `${show(one["namespace"])}/`;
  const title = `  in shadow, ${namespace}${show(one["name"])}`;
  if (one["error"] !== undefined) {
    const error = show(one["error"]);
    // The message of the rollout has most errors.
    return [message.includes(error) ? `${title} ${paint.red("failed")}` : `${title} ${paint.red("failed")}: ${error}`];
  }
  const found = objectsAt(one["differences"]);
  if (found.length === 0) return [`${title} would stay the same`];
  const lines = found.map(({ resource, path, applied, desired }) => {
    const place = [show(resource), ...(path === "" ? [] : [show(path)])].join(" ");
    const shown = (value: JsonValue | undefined): string => (value === undefined ? "(none)" : show(value));
    return `    ${place}: ${paint.red(shown(applied))} -> ${paint.green(shown(desired))}`;
  });
  const { omitted } = one;
  return [`${title} would change:`, ...lines, ...(omitted === undefined ? [] : [`    and ${show(omitted)} more`])];
}

function titleOf(revision: LiveObject): string {
  return `revision ${numberOf(revision)} (${revision.metadata.name})`;
}

/** The rollout of a revision; undefined if it has none. */
function rolloutOf({ status }: LiveObject): JsonObject | undefined {
  const rollout = valueAt(status, "rollout");
  return isObject(rollout) ? rollout : undefined;
}

function numberOf({ spec }: LiveObject): number {
  return Number(valueAt(spec, "revision") ?? 0);
}

/** A text of the cluster, safe for a terminal. */
function show(value: JsonValue | undefined): string {
  return escapeControls(typeof value === "string" ? value : printJson(value ?? null)).replaceAll("\n", "\\n");
}
