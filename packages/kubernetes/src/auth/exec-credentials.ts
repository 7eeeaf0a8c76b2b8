import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { isObject, type JsonObject, type JsonValue } from "@xfn/functionio";
import { parseJsonDocument, printJson } from "@xfn/functionio/document";
import type { ClusterAccess } from "./access.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";

/** `user.exec` of a kubeconfig. */
export interface ExecInput {
  readonly user: string;
  readonly exec: JsonObject;
  readonly folder: string;
  readonly cluster: JsonObject;
  readonly env: Readonly<Record<string, string | undefined>>;
}

// Such programs ask a cloud; one that asks a person instead would wait for ever.
const TIMEOUT_MS = 60_000;
// A token and a certificate chain.
const MAX_OUTPUT_BYTES = 1024 * 1024;
// New ones are fetched before the old ones are refused.
const EXPIRY_MARGIN_MS = 30_000;

interface Issued {
  readonly headers: Readonly<Record<string, string>>;
  readonly certificate: { cert?: string; key?: string };
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** Credentials from a program (kubernetes.io, "client-go credential plugins"): v1 and v1beta1, kept until they expire. */
export function execCredentials(
  input: ExecInput,
): Pick<ClusterAccess, "headers" | "refresh"> & { certificate(): Promise<{ cert?: string; key?: string }> } {
  let issued: Issued | undefined;
  let running: Promise<Issued> | undefined;
  const fetch = (): Promise<Issued> => {
    running ??= run(input)
      .then((answer) => {
        issued = answer;
        return answer;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  const current = (): Issued | undefined =>
    issued !== undefined && issued.until - EXPIRY_MARGIN_MS > Date.now() ? issued : undefined;
  return {
    headers: () => current()?.headers ?? fetch().then(({ headers }) => headers),
    certificate: async () => (current() ?? (await fetch())).certificate,
    async refresh() {
      const before = issued;
      const after = await fetch();
      return JSON.stringify(after) !== JSON.stringify(before);
    },
  };
}

async function run({ user, exec, folder, cluster, env }: ExecInput): Promise<Issued> {
  const { command, apiVersion, args, installHint } = exec;
  if (typeof command !== "string" || typeof apiVersion !== "string" || !/\/v1(beta1)?$/.test(apiVersion)) {
    throw new KubeconfigError("Invalid", `user ${user}: exec needs a command and client.authentication.k8s.io/v1`);
  }
  const failed = (why: string, cause?: unknown): KubeconfigError => {
    const hint = typeof installHint === "string" ? `\n${installHint}` : "";
    return new KubeconfigError("Credentials", `user ${user}: ${command} gave no credentials: ${why}${hint}`, cause);
  };
  // A name without a slash is looked for in PATH; with one it is relative to the kubeconfig.
  const program = command.includes("/") ? resolve(folder, command) : command;
  const strings = Array.isArray(args) ? args.filter((arg) => typeof arg === "string") : [];
  const text = await new Promise<string>((done, reject) => {
    const child = execFile(
      program,
      strings,
      { env: environment(exec, cluster, env, apiVersion), timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout, stderr) => {
        if (error === null) done(stdout);
        else reject(failed(stderr.trim().slice(-1000) || error.message, error));
      },
    );
    // It must not read what is meant for us.
    child.stdin?.end();
  });
  try {
    return issuedBy(parseJsonDocument(text));
  } catch (cause) {
    throw failed(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function issuedBy(answer: JsonValue): Issued {
  const status = isObject(answer) ? answer["status"] : undefined;
  if (!isObject(status)) throw new Error("its ExecCredential has no status");
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp: until } = status;
  if (typeof token !== "string" && typeof cert !== "string") throw new Error("there is no token and no certificate");
  return {
    headers: typeof token === "string" ? { authorization: `Bearer ${token}` } : {},
    certificate: { ...(typeof cert === "string" ? { cert } : {}), ...(typeof key === "string" ? { key } : {}) },
    until: typeof until === "string" ? Date.parse(until) : Number.POSITIVE_INFINITY,
  };
}

function environment(
  exec: JsonObject,
  cluster: JsonObject,
  env: Readonly<Record<string, string | undefined>>,
  apiVersion: string,
): NodeJS.ProcessEnv {
  const all: NodeJS.ProcessEnv = { ...env };
  for (const item of Array.isArray(exec["env"]) ? exec["env"] : []) {
    if (!isObject(item)) continue;
    const { name, value } = item;
    if (typeof name === "string" && typeof value === "string") all[name] = value;
  }
  const spec: JsonObject = { interactive: false };
  if (exec["provideClusterInfo"] === true) {
    const info: JsonObject = {};
    for (const key of [
      "server",
      "tls-server-name",
      "insecure-skip-tls-verify",
      "certificate-authority-data",
      "proxy-url",
    ]) {
      const value = cluster[key];
      if (value !== undefined) info[key] = value;
    }
    spec["cluster"] = info;
  }
  all["KUBERNETES_EXEC_INFO"] = printJson({ apiVersion, kind: "ExecCredential", spec });
  return all;
}
