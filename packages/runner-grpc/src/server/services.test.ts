import { Client, credentials } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { describe, expect, test } from "vitest";
import { abstractName, Serving, TOKEN } from "../../testing/serving.ts";
import { parseEndpoint, SERVICE_NAME } from "../index.ts";

const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

function check(address: string, service: string): Promise<unknown> {
  const client = new Client(parseEndpoint(address).target, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = healthService["Check"]!;
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service }, (error, answer) => {
      client.close();
      resolve(error === null ? (answer as { status: string }).status : error.code);
    });
  });
}

describe("the health service", () => {
  test("reports the program's state, and NOT_SERVING once it stops", async () => {
    await using serving = new Serving();
    const barrier = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const { server, address } = await serving.server({
      health: { serving: false },
      run: async (_image, input) => {
        started.resolve();
        await barrier.promise;
        return input;
      },
    });
    expect(await check(address, "")).toBe("NOT_SERVING");
    server.setServing(true);
    expect(await check(address, "")).toBe("SERVING");
    expect(await check(address, SERVICE_NAME)).toBe("SERVING");
    expect(await check(address, "no.such.Service")).toBe(5);
    barrier.resolve();
  });

  test("answers only probes without a token", async () => {
    await using serving = new Serving();
    const options = { tokenFile: serving.file("token", TOKEN), health: { serving: true }, reflection: true };
    const { address } = await serving.server({ ...options, addresses: [abstractName()] });
    expect(await check(address, "")).toBe("SERVING");
    expect(await describeService(address)).toBe(16);
  });

  test("exists only on request", async () => {
    await using serving = new Serving();
    const { address } = await serving.server();
    expect(await check(address, "")).toBe(12);
    expect(await describeService(address)).toBe(12);
  });

  test("does not prevent a server from stopping while a client watches it", async () => {
    await using serving = new Serving();
    const { server, address } = await serving.server({ health: { serving: true } });
    const client = new Client(parseEndpoint(address).target, credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = healthService["Watch"]!;
    const watch = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: "" });
    const statuses: unknown[] = [];
    watch.on("data", (answer: { status: string }) => statuses.push(answer.status));
    watch.on("error", () => undefined);
    await expect.poll(() => statuses).toEqual(["SERVING"]);
    await server.stop(60_000);
    expect(statuses).toEqual(["SERVING", "NOT_SERVING"]);
    client.close();
  });
});

test("reflection contains the contract and its imports", async () => {
  await using serving = new Serving();
  const { address } = await serving.server({ reflection: true });
  const answer = await describeService(address);
  expect(answer).toContain("RunFunctionRequest");
  expect(answer).toContain("google/protobuf/duration.proto");
});

// ServerReflectionRequest { string file_containing_symbol = 4; }
function describeService(address: string): Promise<unknown> {
  const client = new Client(parseEndpoint(address).target, credentials.createInsecure());
  const asIs = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve) => {
    const call = client.makeBidiStreamRequest(REFLECTION, asIs, asIs);
    call.on("data", (bytes) => {
      resolve((bytes as Buffer).toString("latin1"));
      call.end();
      client.close();
    });
    call.on("error", (error: Error & { code: number }) => {
      resolve(error.code);
      client.close();
    });
    call.write(Buffer.concat([Buffer.from([0x22, SERVICE_NAME.length]), Buffer.from(SERVICE_NAME)]));
  });
}
