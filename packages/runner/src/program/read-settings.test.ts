import { declareSettings, givenFlags, readSettings, variableOf } from "@xfn/program";
import { Command } from "commander";
import { expect, test } from "vitest";
import { RUN_SETTINGS } from "./run-settings.ts";
import { SERVE_SETTINGS, type ServeConfig } from "./serve-settings.ts";

function read(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): { config: ServeConfig; problems: string[] } {
  const command = declareSettings(new Command("serve").exitOverride(), SERVE_SETTINGS, "xfn-runner");
  command.parse(args, { from: "user" });
  return readSettings(SERVE_SETTINGS, givenFlags(command), { program: "xfn-runner", environment });
}

test("every setting is in a group of the help, with its variable", () => {
  const all = [...Object.values(SERVE_SETTINGS), ...Object.values(RUN_SETTINGS)];
  expect(all.filter(({ group }) => group === undefined)).toEqual([]);
  const help = declareSettings(new Command("serve"), SERVE_SETTINGS, "xfn-runner")
    .configureHelp({ helpWidth: 1000 })
    .helpInformation();
  for (const setting of Object.values(SERVE_SETTINGS)) {
    expect(help).toContain(`--${setting.name} `);
    expect(help).toContain(variableOf("xfn-runner", setting));
  }
});

test("a flag takes precedence over its variable, and a variable over the default", () => {
  const environment = { XFN_RUNNER_MAX_QUEUED: "5", XFN_RUNNER_MAX_PIDS: "6", XFN_RUNNER_READ_ONLY_ROOT: "true" };
  const { config, problems } = read(["--max-queued", "7"], environment);
  expect(problems).toEqual([]);
  expect(config).toMatchObject({ maxQueued: 7, maxPids: 6, readOnlyRoot: true, allowNetwork: false, logLevel: "info" });
});

test("repeated flags and a variable with commas make lists; flags replace the variable", () => {
  const environment = { XFN_RUNNER_ADDRESS: "unix:/a, unix:/b" };
  expect(read([], environment).config.address).toEqual(["unix:/a", "unix:/b"]);
  expect(read(["--address", "x:1", "--address", "y:2"], environment).config.address).toEqual(["x:1", "y:2"]);
});

test("empty variables and the variables that Kubernetes sets for a Service are ignored", () => {
  const environment = {
    XFN_RUNNER_MAX_MEMORY: "",
    XFN_RUNNER_PORT: "tcp://10.0.0.1:7443",
    XFN_RUNNER_SERVICE_HOST: "10.0.0.1",
  };
  expect(read([], environment)).toMatchObject({ config: { maxMemory: undefined }, problems: [] });
});

test("every unreadable setting is reported with its source", () => {
  const { problems } = read(["--max-cpu", "many", "--warm-pool", "lots"], { XFN_RUNNER_ALLOW_NETWORK: "yes" });
  expect(problems).toEqual([
    expect.stringMatching(/^--max-cpu: "many" is not a Kubernetes quantity/),
    expect.stringMatching(/^--warm-pool: "lots" must be off, adaptive/),
    'XFN_RUNNER_ALLOW_NETWORK: "yes" must be true or false',
  ]);
});

test.each([
  ["--max-memory", "256Mi", { maxMemory: 256 * 1024 ** 2 }],
  ["--max-cpu", "500m", { maxCpu: 0.5 }],
  ["--cache-quota", "10Gi", { cacheQuota: 10 * 1024 ** 3 }],
  ["--max-timeout", "1m30s", { maxTimeout: 90_000 }],
  ["--shutdown-grace", "0", { shutdownGrace: 0 }],
  ["--warm-pool", "off", { warmPool: "off" }],
  ["--warm-pool", "0", { warmPool: "off" }],
  ["--warm-pool", "3", { warmPool: 3 }],
  ["--metrics-address", "off", { metricsAddress: undefined }],
  ["--metrics-address", "9000", { metricsAddress: { host: "127.0.0.1", port: 9000 } }],
  ["--metrics-address", ":9000", { metricsAddress: { host: "127.0.0.1", port: 9000 } }],
  ["--metrics-address", "0.0.0.0:9000", { metricsAddress: { host: "0.0.0.0", port: 9000 } }],
  ["--metrics-address", "[::1]:9000", { metricsAddress: { host: "::1", port: 9000 } }],
])("%s %s", (flag, text, expected) => {
  const { config, problems } = read([flag, text]);
  expect(problems).toEqual([]);
  expect(config).toMatchObject(expected);
});

test.each([
  ["--max-memory", "0"],
  ["--max-memory", "-1"],
  ["--max-cpu", "1x"],
  ["--max-timeout", "10"],
  ["--max-timeout", "0s"],
  ["--max-timeout", "25h"],
  ["--max-timeout", "s10"],
  ["--max-concurrent", "0"],
  ["--max-concurrent", "1e3"],
  ["--warm-pool", "65"],
  ["--warm-pool", "-1"],
  ["--metrics-address", "host"],
  ["--metrics-address", "a:70000"],
  ["--metrics-address", "[::zz]:1"],
  ["--otel-endpoint", "collector:4318"],
  ["--otel-endpoint", "http://user:password@collector:4318"],
  ["--log-format", "xml"],
  ["--registry", ""],
])("%s %s is refused", (flag, text) => {
  expect(read([`${flag}=${text}`]).problems).toHaveLength(1);
});
