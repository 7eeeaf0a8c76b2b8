import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readSettings } from "@xfn/program";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkConfig } from "./check-config.ts";
import { SERVE_SETTINGS, type ServeConfig } from "./serve-settings.ts";

let folder: string;
let token: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "xfn-config-"));
  token = join(folder, "token");
  writeFileSync(token, `${"t".repeat(32)}\n`);
});
afterAll(() => rmSync(folder, { recursive: true }));

function check(settings: Partial<ServeConfig>): string[] {
  const { config } = readSettings<ServeConfig>(SERVE_SETTINGS, {}, { program: "xfn-runner", environment: {} });
  return checkConfig({ ...config, address: ["unix:/run/x.sock"], ...settings }).problems;
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
  expect(checked.insecureRegistries).toEqual(["localhost:5000"]);
});
