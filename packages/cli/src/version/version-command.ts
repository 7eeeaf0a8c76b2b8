import { isObject, textAt } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { type Client, isApiError } from "@xfn/kubernetes";
import { ExitCode } from "@xfn/program/exit-code";
import { oneLine } from "@xfn/program/terminal-text";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";
import type { Output } from "../terminal/output.ts";

/** Flags of `xfn version`, as commander parsed them. */
export interface VersionFlags extends ClusterFlags {
  readonly client?: boolean;
  readonly output?: "text" | "json";
}

/** Versions, without those that are unknown. */
export interface Versions {
  readonly client: string;
  /** The version of the controller that installed the CRDs of Compositions. */
  readonly controller?: string;
  readonly kubernetes?: string;
}

const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "compositions.apiextensions.crossplane.io",
} as const;

/** `xfn version`: prints the version of this program, and then those of the cluster. */
export async function showVersion(client: string, flags: VersionFlags, output: Output): Promise<number> {
  let versions: Versions = { client };
  try {
    if (flags.client !== true) versions = await withCluster(flags, (api) => read(api, client));
  } finally {
    await output.product(flags.output === "json" ? `${printJson({ ...versions })}\n` : text(versions));
  }
  const skew = skewOf(versions);
  if (skew !== undefined) output.note(`xfn: ${skew}`);
  return ExitCode.ok;
}

async function read(api: Client, client: string): Promise<Versions> {
  const kubernetes = oneLine(textAt(await api.raw("GET", "/version"), "gitVersion") ?? "unknown", 100);
  const controller = await controllerVersion(api);
  return { client, kubernetes, ...(controller !== undefined && { controller }) };
}

/** Undefined if another program has installed the CRD. */
async function controllerVersion(api: Client): Promise<string | undefined> {
  try {
    const { labels } = (await api.get(CRD)).metadata;
    if (!isObject(labels) || labels["app.kubernetes.io/part-of"] !== "xfn") return undefined;
    return oneLine(textAt(labels, "app.kubernetes.io/version") ?? "unknown", 100);
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

function text({ client, controller, kubernetes }: Versions): string {
  const lines = [`xfn             ${client}`];
  if (kubernetes !== undefined) {
    lines.push(`xfn-controller  ${controller ?? "not installed"}`, `Kubernetes      ${kubernetes}`);
  }
  return `${lines.join("\n")}\n`;
}

/** The advice if client and controller differ by more than a patch version. */
export function skewOf({ client, controller }: Versions): string | undefined {
  if (controller === undefined || minorOf(client) === minorOf(controller)) return undefined;
  return `xfn ${client} and xfn-controller ${controller} differ; use the same minor version of both`;
}

function minorOf(version: string): string {
  return version.split(".", 2).join(".");
}
