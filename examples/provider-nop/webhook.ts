import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { JsonObject } from "@xfn/json";
import { answerReview } from "./convert.ts";

/**
 * Serves the conversion webhook of the package's CRD at `/convert`.
 *
 * @param folder - has `tls.crt` and `tls.key`: the controller mounts them, and restarts the pods when they change
 * @param address - `HOST:PORT`
 */
export async function serveConversions(folder: string, address: string): Promise<Server> {
  const [cert, key] = await Promise.all(["tls.crt", "tls.key"].map((name) => readFile(join(folder, name))));
  const server = createServer({ cert, key }, (request, response) => {
    const answer = async (): Promise<string> => JSON.stringify(answerReview((await json(request)) as JsonObject));
    answer().then(
      (body) => response.setHeader("content-type", "application/json").end(body),
      () => response.writeHead(400).end(),
    );
  });
  const { hostname, port } = new URL(`https://${address}`);
  server.listen(Number(port), hostname);
  await once(server, "listening");
  return server;
}
