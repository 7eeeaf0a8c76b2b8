import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** The user of a registry with `auth: true`. */
export const REGISTRY_USER = "ada";
/** The password of that user. */
export const REGISTRY_PASSWORD = "open sesame";
// docker-registry accepts bcrypt only, which Node lacks. This is the password's hash with a low cost.
const REGISTRY_HTPASSWD = `${REGISTRY_USER}:$2b$05$06vIoE08sb2EU4ZgCOByk.wGrSx5olKzqYALJos3iNNbgDZbBgvdi\n`;

// The registry is ready in some 50 ms; a busy machine may need longer.
const START_TIMEOUT_MS = 30_000;

/** A running registry, on loopback. */
export interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT`, the registry part of image references. */
  readonly host: string;
  /** The log so far. */
  log(): string;
  /** Stops the registry and removes its content. */
  stop(): Promise<void>;
}

export interface RegistryOptions {
  /** Requires REGISTRY_USER and REGISTRY_PASSWORD (basic authentication). */
  auth?: boolean;
  /** Serves TLS. Default: plain http. */
  tls?: { readonly cert: string; readonly key: string };
  /** Accepts the tokens of a token server, in the names of docker-registry's configuration. */
  token?: {
    readonly realm: string;
    readonly service: string;
    readonly issuer: string;
    readonly rootcertbundle: string;
  };
}

/** Starts Debian's docker-registry with a new content folder. The test needs `needs("docker-registry")`. */
export async function startRegistry(options: RegistryOptions = {}): Promise<TestRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "xfn-test-registry-"));
  const { auth, tls, token } = options;
  const configuration = {
    version: "0.1",
    log: { level: "info", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "content") }, delete: { enabled: true } },
    // Port 0: the kernel picks a free port, and the registry logs it.
    http: { addr: "127.0.0.1:0", ...(tls && { tls: { certificate: tls.cert, key: tls.key } }) },
    ...(auth === true && { auth: { htpasswd: { realm: "test", path: join(folder, "htpasswd") } } }),
    ...(token && { auth: { token } }),
  };
  await writeFile(join(folder, "config.yml"), JSON.stringify(configuration));
  await writeFile(join(folder, "htpasswd"), REGISTRY_HTPASSWD);

  // Variables REGISTRY_* would override the configuration, so pass only the PATH.
  const child = spawn("docker-registry", ["serve", join(folder, "config.yml")], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let log = "";
  const collect = (chunk: Buffer): void => {
    log += chunk.toString("utf8");
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);

  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      child.kill("SIGKILL");
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  };

  try {
    const port = await new Promise<string>((resolve, reject) => {
      const fail = (reason: string): void => reject(new Error(`docker-registry ${reason}:\n${log}`));
      const timer = setTimeout(fail, START_TIMEOUT_MS, `was not ready after ${START_TIMEOUT_MS} ms`);
      const look = (): void => {
        const listening = /listening on 127\.0\.0\.1:(\d+)/.exec(log)?.[1];
        if (listening === undefined) return;
        clearTimeout(timer);
        resolve(listening);
      };
      child.stdout.on("data", look);
      child.stderr.on("data", look);
      child.once("error", (error) => fail(`could not be started (${error.message})`));
      child.once("exit", (code, signal) => fail(`ended with ${code ?? signal}`));
    });
    return { host: `127.0.0.1:${port}`, log: () => log, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
