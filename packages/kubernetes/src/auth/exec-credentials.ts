import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { messageOf } from "@xfn/errors";
import { isObject, type JsonObject, type JsonValue } from "@xfn/json";
import { parseJsonDocument } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { KubeconfigError } from "./kubeconfig-error.ts";

/** `user.exec` of a kubeconfig. */
export interface ExecInput {
  readonly user: string;
  readonly exec: JsonObject;
  readonly folder: string;
  readonly cluster: JsonObject;
  readonly env: Readonly<Record<string, string | undefined>>;
}

// Such programs call a cloud API. Without the limit, a program that prompts a person would block for ever.
const TIMEOUT_MS = 60_000;
// Far more than a token and a certificate chain.
const MAX_OUTPUT_BYTES = 1024 * 1024;
// Fetches new credentials before the server rejects the old ones.
const EXPIRY_MARGIN_MS = 30_000;

interface Issued {
  readonly headers: Readonly<Record<string, string>>;
  readonly certificate: { cert?: string; key?: string };
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * Credentials from a program (kubernetes.io, "client-go credential plugins"): v1 and v1beta1, cached until they expire.
 */
export class ExecCredentials {
  readonly #input: ExecInput;
  #issued: Issued | undefined;
  #running: Promise<Issued> | undefined;

  constructor(input: ExecInput) {
    this.#input = input;
  }

  headers(): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
    return this.#current()?.headers ?? this.#fetch().then(({ headers }) => headers);
  }

  async certificate(): Promise<{ cert?: string; key?: string }> {
    return (this.#current() ?? (await this.#fetch())).certificate;
  }

  async refresh(): Promise<boolean> {
    const before = this.#issued;
    const after = await this.#fetch();
    return JSON.stringify(after) !== JSON.stringify(before);
  }

  #current(): Issued | undefined {
    const issued = this.#issued;
    return issued !== undefined && issued.until - EXPIRY_MARGIN_MS > Date.now() ? issued : undefined;
  }

  /** Concurrent callers share one run of the program. */
  #fetch(): Promise<Issued> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(): Promise<Issued> {
    this.#issued = await run(this.#input);
    return this.#issued;
  }
}

async function run({ user, exec, folder, cluster, env }: ExecInput): Promise<Issued> {
  const { command, apiVersion, args, installHint } = exec;
  if (typeof command !== "string" || typeof apiVersion !== "string" || !/\/v1(beta1)?$/.test(apiVersion)) {
    throw new KubeconfigError(
      "Invalid",
      `user ${user}: exec requires a command and the apiVersion client.authentication.k8s.io/v1`,
    );
  }
  const failed = (why: string, cause?: unknown): KubeconfigError => {
    const hint = typeof installHint === "string" ? `\n${installHint}` : "";
    return new KubeconfigError("Credentials", `user ${user}: ${command} gave no credentials: ${why}${hint}`, { cause });
  };
  // A name without a slash is searched in PATH; a path is relative to the kubeconfig.
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
    // The program must not consume our own standard input.
    child.stdin?.end();
  });
  try {
    return issuedBy(parseJsonDocument(text));
  } catch (cause) {
    throw failed(messageOf(cause), cause);
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
