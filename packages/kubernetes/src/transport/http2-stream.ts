import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { messageOf } from "@xfn/errors";
import { RequestGuard } from "./request-guard.ts";
import { type HttpRequest, type HttpResponse, httpResponse } from "./transport.ts";
import { abortedRequest, TransportError } from "./transport-error.ts";

/** The session's view of its streams. */
export interface StreamOwner {
  streamOpened(): void;
  streamClosed(): void;
  /** The last stream that the server answers, once it has sent GOAWAY (RFC 9113). */
  readonly lastAnswered: number;
  /** Why the session failed. */
  readonly failure: Error | undefined;
}

/** Sends one request on a session. */
export function openStream(
  session: ClientHttp2Session,
  owner: StreamOwner,
  request: HttpRequest,
): Promise<HttpResponse> {
  const { method, path, headers, body, signal } = request;
  if (signal?.aborted === true) return Promise.reject(abortedRequest(signal));
  let stream: ClientHttp2Stream;
  try {
    stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
  } catch (cause) {
    // The session has just ended: Node throws before it writes anything.
    return Promise.reject(new TransportError("NotSent", messageOf(cause), { cause }));
  }
  owner.streamOpened();
  return new Promise((resolve, reject) => {
    const guard = new RequestGuard(stream, request);
    let answered = false;
    let error: Error | undefined;
    stream.once("response", (head) => {
      guard.headArrived();
      answered = true;
      resolve(httpResponse(head[":status"], head, stream, () => stream.close(constants.NGHTTP2_CANCEL)));
    });
    stream.on("error", (cause: Error) => {
      error = cause;
    });
    stream.once("close", () => {
      guard.dispose();
      owner.streamClosed();
      if (!answered) reject(guard.reason ?? lossOf(stream, owner, error));
    });
    if (body !== undefined) stream.end(body);
  });
}

/** The error of a stream that ended without a response. */
function lossOf(stream: ClientHttp2Stream, owner: StreamOwner, error: Error | undefined): TransportError {
  const refused =
    stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || stream.id === undefined || stream.id > owner.lastAnswered;
  const cause = owner.failure ?? error;
  const text = cause === undefined ? "the connection was closed" : messageOf(cause);
  return new TransportError(refused ? "NotSent" : "Lost", text, cause === undefined ? undefined : { cause });
}
