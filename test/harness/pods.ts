import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestApiServer } from "./api-server.ts";

const START_MS = 60_000;

/** The part of a kubelet, of a Deployment's controller and of the cluster's DNS in a test without nodes. */
export class Pods implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "xfn-pods-"));
  readonly #hosts: Record<string, string> = {};
  readonly #stops: (() => Promise<void>)[] = [];
  readonly #namespace: string;
  #next = 1;

  constructor(namespace: string) {
    this.#namespace = namespace;
    this.#writeHosts();
    writeFileSync(join(this.#folder, "resolver.mjs"), RESOLVER);
  }

  /** Makes a program with Node resolve the Services of these pods. */
  get env(): Record<string, string> {
    return {
      NODE_OPTIONS: `--import=${join(this.#folder, "resolver.mjs")}`,
      XFN_TEST_HOSTS: join(this.#folder, "hosts.json"),
    };
  }

  /**
   * Starts a package's program as the pod of a Deployment, with the content that its Secret has now, and reports the
   * Deployment as available. Ends the pod before it.
   *
   * @returns its address on this machine
   */
  async roll(
    server: TestApiServer,
    name: string,
    program: string | readonly string[],
    env: Record<string, string>,
  ): Promise<string> {
    const address = await this.start(program, await this.#secret(server, `${name}-tls-server`), env);
    await listening(address);
    this.#hosts[`${name}.${this.#namespace}`] = address;
    this.#writeHosts();
    await this.#report(server, name);
    const stops = this.#stops.splice(0, this.#stops.length - 1);
    await Promise.all(stops.map((stop) => stop()));
    return address;
  }

  /** Starts a package's program with certificates. @returns its address on this machine */
  async start(
    program: string | readonly string[],
    certificates: Record<string, string>,
    env: Record<string, string>,
  ): Promise<string> {
    const folder = join(this.#folder, `pod-${this.#next}`);
    mkdirSync(folder);
    for (const [file, text] of Object.entries(certificates))
      writeFileSync(join(folder, file), Buffer.from(text, "base64"));
    // Every pod has port 9443, so each has an address of its own.
    const address = `127.${1 + (process.pid % 250)}.${1 + Math.floor(Math.random() * 250)}.${this.#next++}`;
    const [file = "", ...args] = [program].flat();
    const child = spawn(file, [...args, "--address", `${address}:9443`], {
      env: { ...env, TLS_SERVER_CERTS_DIR: folder },
      stdio: "ignore",
    });
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    this.#stops.push(async () => {
      child.kill("SIGKILL");
      await ended;
    });
    return address;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((stop) => stop()));
  }

  /** Sets the conditions of a Deployment's status. */
  async condition(server: TestApiServer, name: string, type: string, status: string, message: string): Promise<void> {
    await this.#patch(server, name, { conditions: [{ type, status, reason: "Test", message }] });
  }

  async #report(server: TestApiServer, name: string): Promise<void> {
    const path = "jsonpath={.metadata.generation}";
    const generation = await server.kubectl(["-n", this.#namespace, "get", "deployment", name, "-o", path]);
    await this.#patch(server, name, {
      observedGeneration: Number(generation),
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
      conditions: [{ type: "Available", status: "True", reason: "Test", message: "" }],
    });
  }

  async #patch(server: TestApiServer, name: string, status: object): Promise<void> {
    const what = ["-n", this.#namespace, "patch", "deployment", name, "--subresource=status", "--type=merge"];
    await server.kubectl([...what, "-p", JSON.stringify({ status })]);
  }

  async #secret(server: TestApiServer, name: string): Promise<Record<string, string>> {
    const text = await server.kubectl(["-n", this.#namespace, "get", "secret", name, "-o", "jsonpath={.data}"]);
    return JSON.parse(text) as Record<string, string>;
  }

  #writeHosts(): void {
    writeFileSync(join(this.#folder, "hosts.json"), JSON.stringify(this.#hosts));
  }
}

async function listening(address: string): Promise<void> {
  for (const end = Date.now() + START_MS; ; await sleep(50)) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(9443, address, () => resolve(true));
      socket.once("error", () => resolve(false)).once("connect", () => socket.destroy());
    });
    if (isOpen) return;
    if (Date.now() > end) throw new Error(`no function listens at ${address}:9443`);
  }
}

const RESOLVER = `
import dns from "node:dns";
import { readFileSync } from "node:fs";
const { lookup } = dns;
dns.lookup = (name, options, callback) => {
  const address = JSON.parse(readFileSync(process.env.XFN_TEST_HOSTS, "utf8"))[name];
  if (address === undefined) return lookup(name, options, callback);
  if (options.all) process.nextTick(callback, null, [{ address, family: 4 }]);
  else process.nextTick(callback, null, address, 4);
};
`;
