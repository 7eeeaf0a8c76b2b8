import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { startRegistry, type TestRegistry } from "../../test/harness/registry.ts";
import { run } from "../image/downloads.ts";

const START_MS = 60_000;

/** With the newest node-fetch, which has no `cjs` build, verdaccio does not install. */
const VERDACCIO = { dependencies: { verdaccio: "6.10.0" }, overrides: { "node-fetch": "2.7.0" } } as const;

/** A registry of packages, which passes on what it lacks from npm's registry, and a registry of images. */
export interface Registries extends AsyncDisposable {
  /** The host and port of the registry of images. */
  readonly images: string;
  /** Makes npm use the registry of packages. */
  readonly env: NodeJS.ProcessEnv;
}

/** Starts both on loopback, with their content in a folder that the caller removes. */
export async function startRegistries(folder: string): Promise<Registries> {
  await using stack = new AsyncDisposableStack();
  const images: TestRegistry = stack.use(await startRegistry());
  const port = await freePort();
  const npm = npmRegistry(folder, port);
  stack.defer(async () => {
    const ended = once(npm, "close");
    if (npm.kill()) await ended;
  });
  const url = `http://127.0.0.1:${port}/`;
  await answers(`${url}-/ping`);
  const userconfig = join(folder, "npmrc");
  // npm publishes with a token only; this registry accepts any.
  writeFileSync(userconfig, `registry=${url}\n//127.0.0.1:${port}/:_authToken=rehearsal\n`);
  const { PATH } = process.env;
  const env = { PATH, HOME: folder, npm_config_userconfig: userconfig, npm_config_update_notifier: "false" };
  const owned = stack.move();
  return { images: images.host, env, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function npmRegistry(folder: string, port: number): ChildProcess {
  const home = join(folder, "verdaccio");
  mkdirSync(home);
  writeFileSync(join(home, "package.json"), JSON.stringify({ private: true, ...VERDACCIO }));
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], home);
  const settings = {
    storage: join(home, "storage"),
    uplinks: { upstream: { url: run("npm", ["config", "get", "registry"]).trim() } },
    packages: {
      "@xfn/*": { access: "$all", publish: "$all" },
      "**": { access: "$all", proxy: "upstream" },
    },
    log: { type: "stdout", level: "warn" },
  };
  // YAML contains JSON.
  const config = join(home, "config.yaml");
  writeFileSync(config, JSON.stringify(settings));
  const program = join(home, "node_modules/verdaccio/bin/verdaccio");
  return spawn(process.execPath, [program, "--config", config, "--listen", `127.0.0.1:${port}`], { stdio: "ignore" });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function answers(url: string): Promise<void> {
  for (const end = Date.now() + START_MS; ; await sleep(200)) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    if (Date.now() > end) throw new Error(`${url} does not answer`);
  }
}
