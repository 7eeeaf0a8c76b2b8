import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { parseComposition } from "@xfn/composition";
import { parseFunctionIO, printFunctionIO } from "@xfn/functionio";
import { readDocuments } from "@xfn/json/document";
import { printJson } from "@xfn/json/text";
import { type PipelineError, runPipeline } from "@xfn/pipeline";
import { type ClosableWebhookCaller, createWebhookCaller } from "@xfn/pipeline/webhook";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeCertificates } from "../harness/certificates.ts";
import { needs } from "../harness/needs.ts";
import { Workspace } from "../harness/workspace.ts";

// Functions of type Webhook: HTTPS servers, real ones on loopback, through the library and through `xfn render`.

const XR = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "db" }, spec: { size: 3 } };
const NO_RUNNER = { run: () => Promise.reject(new Error("no container is expected")) };

const EMPTY = { apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "FunctionIO", observed: {} } as const;

type Answer = (body: Buffer, response: ServerResponse, headers: IncomingHttpHeaders) => void;

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** Desires a Bucket. */
const works: Answer = (body, response) => {
  const io = parseFunctionIO(body);
  const bucket = { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu" } };
  io.desired = { ...io.desired, resources: [{ name: "bucket", resource: bucket }] };
  response.setHeader("content-type", "application/json").end(printFunctionIO(io));
};

describe("a function that is a webhook", needs("openssl"), () => {
  let workspace: Workspace;
  let server: Server;
  /** The same at another address, which its certificate is not for. */
  let other: Server;
  let url: string;
  let caBundle: string;
  let caller: ClosableWebhookCaller;
  let answer: Answer = works;
  let requests = 0;

  beforeAll(async () => {
    workspace = await Workspace.create();
    const { ca, cert, key } = await makeCertificates(workspace);
    caBundle = readFileSync(ca).toString("base64");
    const listener: RequestListener = (request, response) => {
      requests += 1;
      void buffer(request).then((body) => answer(body, response, request.headers));
    };
    const tls = { cert: readFileSync(cert), key: readFileSync(key) };
    server = createServer(tls, listener);
    other = createServer(tls, listener);
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    url = `https://127.0.0.1:${portOf(server)}/db`;
    caller = createWebhookCaller({ maxOutputBytes: 1024 * 1024 });
  });
  afterAll(async () => {
    caller?.close();
    server?.closeAllConnections();
    server?.close();
    await workspace?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    answer = works;
    requests = 0;
  });

  const compositionWith = (webhook: object, io = "FunctionIO"): string =>
    printJson({
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "stores" },
      spec: {
        compositeTypeRef: { apiVersion: XR.apiVersion, kind: XR.kind },
        functions: [{ name: "db", type: "Webhook", io, webhook: { url, caBundle, ...webhook } as never }],
      },
    });
  const run = (
    webhook: object = {},
    more: Partial<Parameters<typeof runPipeline>[0]> = {},
    io?: string,
  ): ReturnType<typeof runPipeline> => {
    const [document] = readDocuments(compositionWith(webhook, io));
    if (document === undefined) throw new Error("no document");
    const composition = parseComposition(document);
    return runPipeline({ composite: XR, composition, runner: NO_RUNNER, webhooks: caller, ...more });
  };
  const failure = async (...how: Parameters<typeof run>): Promise<PipelineError> => {
    const outcome = await run(...how).catch((error: unknown) => error as PipelineError);
    if (!(outcome instanceof Error)) throw new Error("it did not fail");
    expect(outcome.message).not.toContain("body-of-the-answer");
    return outcome;
  };

  test("gets its FunctionIO by POST, and desires what it returns", async () => {
    let seen: IncomingHttpHeaders = {};
    answer = (body, response, headers) => {
      seen = headers;
      works(body, response, headers);
    };
    const { composed } = await run();
    expect(composed.map(({ name, resource }) => [name, resource["kind"]])).toEqual([["bucket", "Bucket"]]);
    expect(seen).toMatchObject({ "content-type": "application/json", "accept-encoding": "identity" });
    expect(seen.authorization).toBeUndefined();
  });

  test("gets and returns a ResourceList if its step says so", async () => {
    const mark = "fn.apiextensions.crossplane.io";
    answer = (body, response) => {
      const { items, ...list } = JSON.parse(body.toString()) as { items: object[] };
      const annotations = { [`${mark}/type`]: "ComposedResource", [`${mark}/name`]: "bucket" };
      const bucket = { apiVersion: "s3.example.org/v1", kind: "Bucket", metadata: { annotations }, found: items };
      json(response).end(JSON.stringify({ ...list, items: [...items, bucket] }));
    };
    const { composed } = await run({}, {}, "ResourceList");
    expect(composed).toMatchObject([{ name: "bucket", resource: { kind: "Bucket", found: [{ kind: XR.kind }] } }]);
    answer = (_, response) => void json(response).end(printFunctionIO(EMPTY));
    const error = await run({}, {}, "ResourceList").catch((one: unknown) => one);
    expect(error).toMatchObject({ code: "InvalidOutput", step: "db" });
  });

  test("gets the token of its Secret", async () => {
    let authorization: string | undefined;
    answer = (body, response, headers) => {
      authorization = headers.authorization;
      works(body, response, headers);
    };
    const credentials = { secretRef: { namespace: "ns", name: "keys" } };
    await run({ credentials }, { credentials: async () => new Map([["token", Buffer.from("s3cret\n")]]) });
    expect(authorization).toBe("Bearer s3cret");
    const missing = await failure({ credentials }, { credentials: async () => undefined });
    expect(missing.message).toContain("the Secret ns/keys of its credentials does not exist");
    expect(requests).toBe(1);
  });

  const secret = "body-of-the-answer";
  const json = (response: ServerResponse): ServerResponse => response.setHeader("content-type", "application/json");
  test.each<[what: string, answer: Answer, problem: string]>([
    ["500", (_, response) => void response.writeHead(500).end(secret), "status 500"],
    [
      "302",
      (_, response) => void response.writeHead(302, { location: "/other" }).end(secret),
      "redirects are not followed",
    ],
    ["HTML", (_, response) => void response.setHeader("content-type", "text/html").end(secret), "Content-Type"],
    ["nothing", (_, response) => void json(response).end(), "it returned an empty body"],
    ["text", (_, response) => void json(response).end(secret), "its response is not a FunctionIO"],
    ["two documents", (_, response) => void json(response).end(`{"a": 1}\n---\n{"b": 2}\n`), "more than one document"],
    [
      "gzip",
      (_, response) => void json(response).setHeader("content-encoding", "gzip").end(secret),
      "its answer is compressed",
    ],
    ["2 MiB", (_, response) => void json(response).end(Buffer.alloc(2 * 1024 * 1024)), "is larger than 1048576 bytes"],
    [
      "half of its answer",
      (_, response) => {
        json(response)
          .setHeader("content-length", 1000)
          .write(secret, () => response.destroy());
      },
      "its answer ended in the middle",
    ],
    [
      "no answer",
      (_, response) => void (response.socket as Socket).destroy(),
      "the connection ended before its answer",
    ],
  ])("fails clearly if it answers with %s", async (_, how, problem) => {
    answer = how;
    const error = await failure();
    expect(error).toMatchObject({ name: "PipelineError", step: "db", image: url });
    expect(error.message).toMatch(/^step "db": /);
    expect(error.message).toContain(`(webhook ${url})`);
    expect(error.message).toContain(problem);
    // A request that the server may have received is not sent again.
    expect(requests).toBe(1);
  });

  test("that does not answer in time fails with the way out", async () => {
    answer = () => undefined;
    const error = await failure({ timeout: "200ms" });
    expect(error.message).toMatch(
      /did not answer within 200 ms .*\. In the Composition: raise the step's webhook\.timeout/,
    );
    expect(error.retryable).toBe(true);
  });

  test("that sends its answer too slowly fails too", async () => {
    const timers: NodeJS.Timeout[] = [];
    answer = (_, response) => {
      json(response);
      timers.push(setInterval(() => response.write(" "), 20));
    };
    try {
      expect((await failure({ timeout: "300ms" })).message).toContain("did not answer within 300 ms");
    } finally {
      for (const timer of timers) clearInterval(timer);
    }
  });

  test("ends with the run of its caller", async () => {
    const stop = new AbortController();
    answer = () => stop.abort();
    expect(await failure({}, { signal: stop.signal })).toMatchObject({ code: "Aborted" });
  });

  test("is not sent anything if its certificate is of another authority, or for another name", async () => {
    const error = await failure({ caBundle: undefined });
    expect(error.message).toMatch(/its certificate is not trusted .*webhook\.caBundle/);
    await new Promise<void>((resolve) => void other.listen(0, "127.0.0.2", resolve));
    const named = await failure({ url: `https://127.0.0.2:${portOf(other)}/` });
    expect(named.message).toContain("its certificate is for another name");
    expect(requests).toBe(0);
    await new Promise((resolve) => void other.close(resolve));
    expect((await failure({ url: `https://127.0.0.2:${portOf(server)}/` })).message).toContain("no connection");
  });

  test.each([
    "https://169.254.169.254/latest",
    "https://[fe80::1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://100.100.100.200/",
    "https://[fd00:ec2::254]/",
  ])("at %s is refused: metadata services have such addresses", async (address) => {
    expect((await failure({ url: address })).message).toContain("is link-local");
  });

  test("runs in xfn render, and in its trace", async () => {
    const [xr, composition] = await Promise.all([
      workspace.write("xr.yaml", printJson(XR)),
      workspace.write("composition.yaml", compositionWith({})),
    ]);
    const { code, stdout, stderr } = await workspace.xfn(["render", xr, composition, "--trace"]);
    expect(stderr).toContain(url);
    expect(stdout).toContain("kind: Bucket");
    expect(code).toBe(0);
  });
});
