import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { declareSettings, givenFlags, readSettings, variableOf } from "@xfn/program";
import * as grpc from "@xfn/runner-grpc";
import { Command } from "commander";
import { beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/harness/temporary-folder.ts";
import { endpointOf } from "../functions/function-directory.ts";
import { checkConfig, checkFunctions, checkRunner } from "./check-config.ts";
import { runnerOptions } from "./client-options.ts";
import { START_SETTINGS, type StartConfig } from "./start-settings.ts";

let folder: string;

beforeAll(() => {
  folder = temporaryFolder();
});

function read(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): { config: StartConfig; problems: string[] } {
  const command = declareSettings(new Command("start").exitOverride(), START_SETTINGS, "xfn-controller");
  command.parse(args, { from: "user" });
  return readSettings<StartConfig>(START_SETTINGS, givenFlags(command), {
    program: "xfn-controller",
    environment: environment,
  });
}

function problemsOf(...args: readonly string[]): string[] {
  const { config, problems } = read(args);
  const runner = config.enableCompositionFunctions ? checkRunner(config, grpc) : [];
  const functions = config.enableCompositionFunctions ? checkFunctions(config, { endpointOf }) : [];
  return [...problems, ...checkConfig(config), ...runner, ...functions];
}

test("every setting has a group in the help, and its variable", () => {
  expect(Object.values(START_SETTINGS).filter(({ group }) => group === undefined)).toEqual([]);
  expect(variableOf("xfn-controller", START_SETTINGS.pollInterval)).toBe("XFN_CONTROLLER_POLL_INTERVAL");
});

test("the controller can start with the defaults", () => {
  expect(problemsOf()).toEqual([]);
  expect(read([]).config).toMatchObject({
    enableCompositionFunctions: false,
    leaderElection: false,
    pullSecretNamespaces: [],
    allowComposedSecrets: false,
    pollInterval: 60_000,
  });
});

test("recordings require functions", () => {
  expect(problemsOf("--debug-recordings", folder)).toEqual([
    expect.stringContaining("--debug-recordings requires --enable-composition-functions"),
  ]);
  expect(problemsOf("--debug-recordings", folder, "--enable-composition-functions")).toEqual([]);
});

test("a pipeline inspector requires functions", () => {
  expect(problemsOf("--enable-pipeline-inspector")).toEqual([
    expect.stringContaining("--enable-pipeline-inspector requires --enable-composition-functions"),
  ]);
});

test("a runner in the process has the flags of xfn-runner, which another runner does not", () => {
  const inProcess = ["--enable-composition-functions", "--runner", "in-process"];
  const flags = [
    "--max-memory",
    "1Gi",
    "--allow-image",
    "registry.example.org",
    "--mirror",
    "docker.io=localhost:5000",
  ];
  expect(problemsOf(...inProcess, ...flags)).toEqual([]);
  expect(problemsOf("--max-memory", "1Gi", "--allow-image", "a")).toEqual([
    expect.stringMatching(/^--max-memory requires --runner in-process/),
    expect.stringMatching(/^--allow-image requires --runner in-process/),
  ]);
  expect(problemsOf("--runner", "in-process")).toEqual([
    expect.stringContaining("--runner in-process requires --enable-composition-functions"),
  ]);
  for (const flag of ["--allow-network", "--allow-chroot", "--address"]) {
    expect(() => problemsOf(...inProcess, flag, "x")).toThrow(flag);
  }
});

test("settings of a connection are refused with a runner in the process", () => {
  const inProcess = ["--enable-composition-functions", "--runner", "in-process"];
  expect(problemsOf(...inProcess, "--runner-token-file", "/token")).toEqual([
    expect.stringContaining("--runner-token-file has no effect"),
  ]);
  expect(problemsOf(...inProcess, "--runner-tls-server-name", "a")).toEqual([
    expect.stringContaining("--runner-tls-* settings have no effect"),
  ]);
});

test("packages require functions, and settings of registries require packages", () => {
  expect(problemsOf("--function-substrate", "Deployment")).toEqual([
    expect.stringContaining("--function-substrate requires --enable-function-runtimes"),
  ]);
  for (const flag of ["--enable-dependency-version-upgrades", "--enable-dependency-version-downgrades"])
    expect(problemsOf(flag)).toEqual([expect.stringContaining(`${flag} requires --enable-packages`)]);
  expect(problemsOf("--enable-packages")).toEqual(["--enable-packages requires --enable-composition-functions"]);
  const enabled = ["--enable-packages", "--enable-composition-functions"];
  const registries = ["--insecure-registry", "localhost:5000", "--mirror", "docker.io=mirror.example.org"];
  expect(problemsOf(...enabled, ...registries)).toEqual([]);
  expect(problemsOf(...registries)).toEqual([
    expect.stringContaining("--insecure-registry requires --enable-packages"),
    expect.stringContaining("--mirror requires --enable-packages"),
  ]);
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
  const { config } = read([enabled, "--runner", "runner:7443", "--runner-tls-ca", "ca.crt", "--max-output", "1Mi"]);
  const maxOutputBytes = 1024 * 1024;
  expect(runnerOptions(config)).toEqual({ endpoint: "runner:7443", maxOutputBytes, tls: { caFile: "ca.crt" } });
  expect(problemsOf(enabled, "--max-output", "101Mi")).toEqual([expect.stringContaining("at most 100Mi")]);
});

const functionFlags = (...sources: string[]): string[] => [
  "--enable-composition-functions",
  ...sources.flatMap((source) => ["--function", source]),
];

test.each([
  ["localhost:9443", { host: "localhost", port: 9443 }, false],
  ["dns:///function-a.crossplane-system:9443", { host: "function-a.crossplane-system", port: 9443 }, false],
  ["http://10.0.0.1:9443", { host: "10.0.0.1", port: 9443 }, false],
  ["https://function-a.crossplane-system:9443", { host: "function-a.crossplane-system", port: 9443 }, true],
  ["[::1]:9443", { host: "::1", port: 9443 }, false],
  ["unix:/run/a.sock", { path: "/run/a.sock" }, false],
])("the Function %s is an endpoint", (source, address, isSecure) => {
  expect(endpointOf(source)).toEqual({ text: source, address, isSecure });
  expect(problemsOf(...functionFlags(`a=${source}`))).toEqual([]);
});

test.each(["registry.example.org/functions/a:v1", "localhost:5000/a:v1", "oci:/layouts/a", "oci:layout"])(
  "the Function %s is a package",
  (source) => {
    expect(endpointOf(source)).toBeUndefined();
    expect(problemsOf(...functionFlags(`a=${source}`))).toEqual([]);
  },
);

test.each([
  [["a"], "NAME=ENDPOINT or NAME=PACKAGE"],
  [["=localhost:1"], "NAME=ENDPOINT or NAME=PACKAGE"],
  [["A_b=localhost:1"], "must be the name of an object"],
  [["a=crossplane-contrib/function-a:v1"], "neither an endpoint"],
  [["a=function-a"], "neither an endpoint"],
  [["a=localhost:65536"], "neither an endpoint"],
  [["a=localhost:0"], "a port is 1 to 65535"],
  [["a=https://localhost"], "neither an endpoint"],
  [["a=localhost:1", "a=localhost:2"], "a is given twice"],
])("the Functions %j are refused", (sources, problem) => {
  expect(problemsOf(...functionFlags(...sources)).join("\n")).toContain(problem);
});

test("Functions require functions, and their certificates exist in pairs", () => {
  expect(problemsOf("--function", "a=localhost:1")).toEqual(["--function requires --enable-composition-functions"]);
  const [cert, ca] = ["--function-tls-cert", "--function-tls-ca"];
  const found = problemsOf(...functionFlags("a=https://a:1"), cert, "/does/not/exist", ca, "/nor/this").join("\n");
  expect(found).toContain("--function-tls-cert and --function-tls-key must be set together");
  expect(found).toContain("there is no file /does/not/exist");
  expect(found).toContain("there is no file /nor/this");
});

test("the protection of Providers requires packages, usages and the webhook", () => {
  const flag = "--enable-provider-deletion-protection";
  const missing = ["enable-packages", "enable-usages", "admission-webhook"];
  expect(problemsOf(flag)).toEqual(missing.map((one) => `${flag} requires --${one}`));
  const all = ["--enable-packages", "--enable-composition-functions", "--enable-usages", "--admission-webhook=a"];
  expect(problemsOf(flag, ...all)).toEqual([]);
  expect(problemsOf(flag, ...all, "--enable-custom-to-managed-resource-conversion=false")).toHaveLength(1);
});
