import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { findBinaries } from "@xfn/dev-cluster";
import { afterAll, beforeAll, expect, test } from "vitest";
import { consoleCommands, fencedBlocks } from "./fenced-blocks.ts";
import { SHORT_LIVED } from "./kubectl/short-lived.ts";
import { endGroup, matching, PATIENCE_MS, runUntil, type Shell, startShell } from "./page-shell.ts";
import { CHECKOUT, CONTROLLER_MAIN, RUNNER_MAIN } from "./paths.ts";
import { pretendCheckout } from "./pretend-checkout.ts";
import { Workspace } from "./workspace.ts";

/**
 * Declares tests that run a page of the documentation as a reader does. Each block `console terminal` runs in its own
 * terminal. The commands of `console` run in one shell, one after the other, and their output is compared with the
 * page, where `...` matches any text. A command `kubectl get` is repeated until its output matches.
 *
 * @param path relative to the checkout
 * @param environment variables that the page tells the reader to set
 */
export function testClusterPage(path: string, environment: () => Promise<NodeJS.ProcessEnv> = async () => ({})): void {
  const page = readFileSync(join(CHECKOUT, path), "utf8");
  const blocks = fencedBlocks(page).filter(({ language }) => language === "console");
  const terminals = blocks.filter(({ rest }) => rest === "terminal").map(({ text }) => consoleCommands(text));
  const commands = blocks.filter(({ rest }) => rest === "").flatMap(({ text }) => consoleCommands(text));
  let workspace: Workspace;
  let shell: Shell;
  const running: ChildProcess[] = [];
  let said = "";

  beforeAll(async () => {
    workspace = await Workspace.create();
    await pretendCheckout(workspace);
    for (const [name, main] of [
      ["xfn-controller", CONTROLLER_MAIN],
      ["xfn-runner", RUNNER_MAIN],
    ] as const)
      await workspace.write(name, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
    const { binaries } = findBinaries();
    // Use the tests' binaries, which are not in the workspace's cache.
    const env = {
      ...workspace.environment(),
      ...(binaries === undefined ? {} : { KUBEBUILDER_ASSETS: dirname(binaries["kube-apiserver"]) }),
      XFN_CONTROLLER_METRICS_ADDRESS: "off",
      XFN_RUNNER_METRICS_ADDRESS: "off",
      ...(await environment()),
    };
    const cwd = workspace.path();
    for (const lines of terminals) {
      const child = spawn("sh", ["-c", lines.map(({ command }) => `${command} || exit`).join("\n")], {
        cwd,
        env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      running.push(child);
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => {
          output += text;
          said += text;
        });
      for (const end = Date.now() + PATIENCE_MS; !/\bready\b/.test(output); await sleep(50)) {
        if (child.exitCode !== null || Date.now() > end) throw new Error(`a terminal did not get ready:\n${said}`);
      }
    }
    shell = startShell(cwd, { ...env, ...SHORT_LIVED });
  });

  afterAll(async () => {
    await shell?.end();
    for (const child of running.toReversed()) await endGroup(child);
    await workspace[Symbol.asyncDispose]();
  });

  test.each(commands)("$command", async ({ command, output }) => {
    const expected = matching(output);
    const shown = await runUntil(shell, command, expected);
    expect(shown, said).toMatch(expected);
  });
}
