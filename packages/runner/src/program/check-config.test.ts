import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "@xfn/program";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { maxServersOf } from "../service/engine-settings.ts";
import { checkConfig } from "./check-config.ts";
import { SERVE_SETTINGS, type ServeConfig } from "./serve-settings.ts";

let folder: string;
let token: string;
beforeAll(() => {
  folder = temporaryFolder();
  token = join(folder, "token");
  writeFileSync(token, `${"t".repeat(32)}\n`);
});

function config(): ServeConfig {
  return readSettings<ServeConfig>(SERVE_SETTINGS, {}, { program: "xfn-runner", environment: {} }).config;
}

function check(settings: Partial<ServeConfig>): string[] {
  return checkConfig({ ...config(), address: ["unix:/run/x.sock"], ...settings }).problems;
}

test("a path socket needs no authentication", () => {
  expect(check({})).toEqual([]);
});

test("abstract and TCP sockets require authentication", () => {
  for (const address of ["@x", "127.0.0.1:1"]) {
    expect(check({ address: [address] })).toEqual([expect.stringContaining("--token-file")]);
    expect(check({ address: [address], tokenFile: token })).toEqual([]);
    expect(check({ address: [address], insecureNoAuth: true })).toEqual([]);
  }
  expect(check({ address: ["10.0.0.1:1"], tokenFile: token })).toEqual([
    expect.stringContaining("--insecure-plaintext"),
  ]);
  expect(check({ address: ["10.0.0.1:1"], tokenFile: token, insecurePlaintext: true })).toEqual([]);
});

test("a runner without authentication shares its network with no function", () => {
  expect(check({ insecureNoAuth: true, allowNetwork: true })).toEqual([expect.stringContaining("--allow-network")]);
});

test("--allow-chroot excludes what a chroot cannot keep, and requires the network that it has", () => {
  expect(check({ allowChroot: true, allowNetwork: true })).toEqual([]);
  expect(check({ allowChroot: true })).toEqual([expect.stringContaining("--allow-network")]);
  expect(check({ allowChroot: true, insecureNoAuth: true })).toEqual([expect.stringContaining("--insecure-no-auth")]);
  for (const limit of [{ maxMemory: 1 }, { defaultMemory: 1 }, { maxCpu: 1 }, { defaultCpu: 1 }, { maxPids: 1 }]) {
    expect(check({ allowChroot: true, allowNetwork: true, ...limit })).toEqual([
      expect.stringContaining("a chroot enforces no limits"),
    ]);
  }
});

test("there may be as many servers of functions as calls", () => {
  expect(check({ maxServers: 3, maxConcurrent: 4 })).toEqual([expect.stringContaining("--max-servers")]);
  expect(check({ maxServers: 4, maxConcurrent: 4 })).toEqual([]);
  expect(maxServersOf({ ...config(), maxConcurrent: 1_000 })).toBe(1_000);
});

test("reports all conflicts at once, each of them once", () => {
  const problems = check({
    address: ["@x", "nonsense", "@y"],
    tokenFile: join(folder, "missing"),
    tlsCert: "cert",
    maxMemory: 1,
    defaultMemory: 2,
    maxCpu: 1,
    defaultCpu: 2,
    warmPool: "off",
    warmPoolCount: 1,
    registry: "http://x",
    insecureRegistry: ["a b"],
    allowImage: ["A B", "ok/fn"],
  });
  const named = [
    "--tls-key",
    "--default-memory",
    "--default-cpu",
    "--warm-pool",
    "--registry",
    "--insecure-registry",
    "--token-file",
    "--allow-image",
  ];
  for (const flag of named)
    expect(
      problems.filter((problem) => problem.includes(flag)),
      flag,
    ).toHaveLength(1);
});

test("accepts hosts in the spelling of image names", () => {
  const { config } = readSettings<ServeConfig>(SERVE_SETTINGS, {}, { program: "xfn-runner", environment: {} });
  const { checked } = checkConfig({
    ...config,
    registry: "Registry.Example.org",
    insecureRegistry: ["LocalHost:5000"],
  });
  expect(checked.policy.defaultRegistry).toBe("registry.example.org");
  expect(checked.registries.insecureRegistries).toEqual(["localhost:5000"]);
});

test("reports wrong mirrors, token servers and certificate files", () => {
  expect(check({ mirror: ["docker.io=mirror.example:5000/hub"], trustedRealm: ["auth.example"] })).toEqual([]);
  expect(check({ mirror: ["docker.io"] })).toEqual([expect.stringContaining('--mirror: "docker.io"')]);
  expect(check({ trustedRealm: ["https://auth.example/"] })).toEqual([expect.stringContaining("--trusted-realm")]);
  // The second file does not exist.
  expect(check({ registryCa: [token, join(folder, "none")] })).toEqual([
    expect.stringContaining(`--registry-ca: cannot read certificates (PEM) from ${token}`),
    expect.stringContaining("ENOENT"),
  ]);
});

test("accepts the flags of xfn for access to registries", () => {
  const settings = { mirror: ["docker.io=a.example", "docker.io=b.example/hub"], "trusted-realm": ["auth.example"] };
  const { config } = readSettings<ServeConfig>(SERVE_SETTINGS, settings, { program: "xfn-runner", environment: {} });
  expect(checkConfig(config).checked.registries).toMatchObject({
    mirrors: { "docker.io": ["a.example", "b.example/hub"] },
    trustedRealms: ["auth.example"],
  });
});
