import { setTimeout as sleep } from "node:timers/promises";
import { isApiError } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import { CliError, usageError } from "../errors/cli-error.ts";
import { colours } from "../terminal/colours.ts";
import { endedByCtrlC } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { warning } from "../terminal/warning.ts";
import { findKind } from "./find-kind.ts";
import { limitOf } from "./limit.ts";
import { printTree, type TreeForm } from "./print-tree.ts";
import { readTree } from "./read-tree.ts";
import type { TreeNode } from "./tree.ts";

/** Flags of `xfn trace`. */
export interface TraceFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly output: TreeForm;
  readonly showConnectionSecrets?: boolean;
  readonly events?: boolean;
  readonly watch?: boolean;
  /** Requests at a time. */
  readonly concurrency: number;
}

/** Between two looks of `--watch`. */
const WATCH_MS = 1_000;

/**
 * `xfn trace`: prints an object of a cluster with all objects below it. Missing and forbidden ones are in the tree.
 *
 * @throws CliError `Failed` if the object itself cannot be read
 */
export async function runTrace(
  type: string,
  name: string | undefined,
  flags: TraceFlags,
  output: Output,
): Promise<number> {
  const target = targetOf(type, name);
  try {
    return await endedByCtrlC(flags.watch === true, (signal) =>
      withCluster(flags, async (client, access) => {
        const limit = limitOf(flags.concurrency);
        output.status(`xfn: reading ${target.type} ${target.name}`);
        const kind = await findKind(client, target.type, limit, signal);
        const namespace = kind.namespaced ? (flags.namespace ?? access.namespace ?? "default") : undefined;
        const { apiVersion, kind: kindName, others } = kind;
        if (others.length > 0) {
          const message = `${target.type} is a kind of several groups: this is ${kindName} of ${apiVersion}; others: ${others.join(", ")}`;
          output.note(warning(message));
        }
        const root = { apiVersion, kind: kindName, name: target.name, namespace };
        const read = (): Promise<TreeNode> => {
          return readTree(client, root, {
            limit,
            signal,
            secrets: flags.showConnectionSecrets === true,
            events: flags.events === true,
          });
        };
        const tree = await read().catch((error: unknown) => {
          throw isApiError(error, "NotFound") ? notFound(kindName, target.name, namespace, error) : error;
        });
        output.status(undefined);
        const text = printTree(tree, flags.output, colours(process.stdout));
        await output.product(text);
        if (flags.watch === true) await watchTree(read, text, flags.output, output, signal);
        return ExitCode.ok;
      }),
    );
  } finally {
    output.status(undefined);
  }
}

/** Prints the tree again after each change, until its first object is deleted. */
async function watchTree(
  read: () => Promise<TreeNode>,
  first: string,
  form: TreeForm,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  let last = first;
  for (;;) {
    await sleep(WATCH_MS, undefined, { signal });
    let text: string;
    try {
      text = printTree(await read(), form, colours(process.stdout));
    } catch (error) {
      if (isApiError(error, "NotFound")) return output.note("xfn: the object was deleted");
      if (isApiError(error) && error.retryable && !signal.aborted) continue;
      throw error;
    }
    if (text === last) continue;
    last = text;
    await output.product(form === "yaml" ? `---\n${text}` : `\n${text}`);
  }
}

function targetOf(type: string, name: string | undefined): { readonly type: string; readonly name: string } {
  const [left = "", right, ...more] = type.split("/");
  if (name === undefined && right !== undefined && more.length === 0 && left !== "" && right !== "")
    return { type: left, name: right };
  if (name !== undefined && right === undefined && left !== "" && name !== "") return { type, name };
  throw usageError("the object is missing: write KIND NAME or KIND/NAME", ["Example: xfn trace xdatabase orders"]);
}

function notFound(kind: string, name: string, namespace: string | undefined, cause: unknown): CliError {
  const place = namespace === undefined ? "" : ` in the namespace ${namespace}`;
  const details = namespace === undefined ? [] : ["-n chooses another namespace"];
  return new CliError("Failed", `there is no ${kind} ${name}${place}`, { details, cause });
}
