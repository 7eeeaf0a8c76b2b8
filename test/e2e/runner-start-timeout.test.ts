import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { type TestImage, testImage } from "../../packages/oci-rootfs/testing/layout.ts";
import { file, tarball } from "../../packages/oci-rootfs/testing/tarball.ts";
import { needs } from "../harness/needs.ts";
import { withMoreTime } from "../harness/patience.ts";
import { ask, failureOf, inTime, runnerOf } from "../harness/shell-function.ts";
import { shellWorkspace } from "../harness/shell-workspace.ts";

// Longer than these tests may take, so that a call without a bound shows.
const FOREVER_MS = 600_000;

describe("the time before a function runs", needs("crun"), () => {
  const shared = shellWorkspace();

  test("ends a call whose registry sends a byte at a time", async () => {
    const image = testImage([tarball([file("run", Buffer.alloc(1_000_000))])], { pack: (archive) => archive });
    const next = await withMoreTime(3_000, async (startTimeoutMs) => {
      await using runner = await runnerOf(shared.workspace, { startTimeoutMs });
      await serving(tricklingRegistry(image), async (host) => {
        const call = runner.run(`${host}/test/slow:v1`, new Uint8Array(), { timeoutMs: FOREVER_MS });
        await expect(call).rejects.toMatchObject({ code: "Timeout", phase: "pull" });
        const aborter = new AbortController();
        setTimeout(() => aborter.abort(), 1_000);
        const cancelled = runner.run(`${host}/test/slow:v1`, new Uint8Array(), { signal: aborter.signal });
        await expect(cancelled).rejects.toMatchObject({ code: "Aborted" });
      });
      // The slot and the store are usable afterwards. The time for a start holds for this call too.
      return await inTime(ask(runner, "echo next"));
    });
    expect(next).toBe("next\n");
  });

  test("ends a call whose container never starts", async () => {
    await withHangingHost("never", async () => {
      const error = await withMoreTime(500, async (startTimeoutMs) => {
        await using runner = await runnerOf(shared.workspace, { startTimeoutMs });
        const failure = await failureOf(ask(runner, "echo", { timeoutMs: FOREVER_MS }));
        return failure.phase === "pull" ? undefined : failure;
      });
      expect(error).toMatchObject({ code: "Timeout", phase: "start", retryable: true });
    });
  });

  test("ends with its caller, even if its container never starts", async () => {
    await withHangingHost("gone", async () => {
      await using runner = await runnerOf(shared.workspace);
      const aborter = new AbortController();
      const onPhase = (phase: string): void => void (phase === "pull" && setTimeout(() => aborter.abort(), 100));
      const call = ask(runner, "echo", { signal: aborter.signal, timeoutMs: FOREVER_MS, onPhase });
      await expect(call).rejects.toMatchObject({ code: "Aborted", phase: "start" });
    });
  });

  /** Runs `work` while the sandbox host never becomes ready. It ends when the runner disconnects. */
  const withHangingHost = async (folder: string, work: () => Promise<void>): Promise<void> => {
    await mkdir(shared.workspace.path(folder));
    await shared.workspace.write(`${folder}/unshare`, `#!/bin/sh\nexec ${process.execPath} -e '${HANG}'\n`, {
      mode: 0o755,
    });
    const { PATH = "" } = process.env;
    process.env["PATH"] = `${shared.workspace.path(folder)}:${PATH}`;
    try {
      await work();
    } finally {
      process.env["PATH"] = PATH;
    }
  };
});

const HANG = 'process.on("message", () => undefined); process.on("disconnect", () => process.exit(0));';

/** A registry that sends layers with 4 KiB a second, which no check of stalled transfers notices. */
function tricklingRegistry(image: TestImage): ReturnType<typeof createServer> {
  return createServer((request, response) => {
    const digest = /sha256:[0-9a-f]{64}$/.exec(request.url ?? "")?.[0] ?? image.manifest.digest;
    const bytes = image.blobs.get(digest);
    if (request.url === "/v2/" || bytes === undefined) return response.writeHead(bytes === undefined ? 404 : 200).end();
    response.writeHead(200, {
      "content-length": bytes.length,
      "content-type": digest === image.manifest.digest ? image.manifest.mediaType : "application/octet-stream",
      "docker-content-digest": digest,
    });
    if (request.method === "HEAD") return response.end();
    if (!image.layers.some((layer) => layer.digest === digest)) return response.end(bytes);
    return trickle(bytes, response);
  });
}

function trickle(bytes: Buffer, response: ServerResponse): ServerResponse {
  let sent = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, sent + 400));
    sent += 400;
  }, 100);
  return response.once("close", () => clearInterval(timer));
}

async function serving(server: ReturnType<typeof createServer>, work: (host: string) => Promise<void>): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await work(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
