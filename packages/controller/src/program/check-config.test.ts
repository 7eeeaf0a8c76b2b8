import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { declareSettings, givenFlags, readSettings, variableOf } from "@xfn/program";
import * as grpc from "@xfn/runner-grpc";
import { Command } from "commander";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkConfig, checkRunner, runnerOptions } from "./check-config.ts";
import { START_GROUPS, START_SETTINGS, type StartConfig } from "./start-settings.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "xfn-config-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): { config: StartConfig; problems: string[] } {
  const command = declareSettings(new Command("start").exitOverride(), START_SETTINGS, {
    program: "xfn-controller",
    groups: START_GROUPS,
  });
  command.parse(args, { from: "user" });
  return readSettings<StartConfig>(START_SETTINGS, givenFlags(command), {
    program: "xfn-controller",
    environment: environment,
  });
}

function problemsOf(...args: readonly string[]): string[] {
  const { config, problems } = read(args);
  const runner = config.enableCompositionFunctions ? checkRunner(config, grpc) : [];
  return [...problems, ...checkConfig(config), ...runner];
}

test("every setting appears once in the help, with its variable", () => {
  expect(Object.values(START_GROUPS).flat().toSorted()).toEqual(Object.keys(START_SETTINGS).toSorted());
  expect(variableOf("xfn-controller", START_SETTINGS.pollInterval)).toBe("XFN_CONTROLLER_POLL_INTERVAL");
});

test("the controller can start with the defaults", () => {
  expect(problemsOf()).toEqual([]);
  expect(read([]).config).toMatchObject({
    enableCompositionFunctions: false,
    leaderElection: false,
    pullSecretNamespaces: [],
    pollInterval: 60_000,
  });
});

test("settings are read from environment variables", () => {
  const { config, problems } = read([], {
    XFN_CONTROLLER_ENABLE_COMPOSITION_FUNCTIONS: "true",
    XFN_CONTROLLER_PULL_SECRET_NAMESPACES: "a, b",
    XFN_CONTROLLER_CONCURRENCY: "5",
  });
  expect(problems).toEqual([]);
  expect(config).toMatchObject({ enableCompositionFunctions: true, pullSecretNamespaces: ["a", "b"], concurrency: 5 });
});

test("every problem is reported at once, with its flag", () => {
  const problems = problemsOf(
    "--poll-interval=10ms",
    "--lease-duration=1s",
    "--namespace=A b",
    "--concurrency=0",
    `--kubeconfig=${join(folder, "missing")}`,
    "--api-rate=10",
    "--api-burst=5",
  );
  const flags = ["--poll-interval", "--lease-duration", "--namespace", "--concurrency", "--kubeconfig", "--api-burst"];
  for (const flag of flags) expect(problems.join("\n")).toContain(flag);
  expect(problems).toHaveLength(flags.length);
});

test("an invalid runner setting fails the start", () => {
  const enabled = "--enable-composition-functions";
  expect(problemsOf("--runner-token-file", "x")).toEqual([expect.stringContaining(enabled)]);
  expect(problemsOf(enabled, "--runner", "nonsense")).toEqual([expect.stringContaining("--runner nonsense")]);
  expect(problemsOf(enabled, "--runner-tls-cert", "x")).toEqual([expect.stringContaining("--runner-tls-key")]);
  const missing = join(folder, "token");
  expect(problemsOf(enabled, "--runner-token-file", missing)).toEqual([expect.stringContaining(missing)]);
  writeFileSync(missing, `${"t".repeat(32)}\n`);
  expect(problemsOf(enabled, "--runner-token-file", missing)).toEqual([]);
  const { config } = read([enabled, "--runner", "runner:7443", "--runner-tls-ca", "ca.crt"]);
  expect(runnerOptions(config)).toEqual({ endpoint: "runner:7443", tls: { caFile: "ca.crt" } });
});
