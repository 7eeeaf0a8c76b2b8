import type { Socket } from "node:net";
import { HEADERS_BYTES, meterSocket, PeerBudget, PeerLimitError } from "@xfn/runner-contract/peer-limits";
import { Agent, type buildConnector, type Dispatcher } from "undici";

type Handler = Dispatcher.DispatchHandler;

/** Headers of registries are small. undici takes some 10 us for each, and Node's bound of 16 KiB admits thousands. */
export const MAX_HEADERS_BYTES: number = 8 * 1024;

/** undici parses a whole read, also after an error in it: 16 KiB of small headers take it 70 ms. */
const MAX_READ_BYTES: number = 6 * 1024;

/** An agent whose connections end once a server sends far more than its content. */
export function meteredAgent(options: Agent.Options, connect: buildConnector.connector): Dispatcher {
  const current = new CurrentBudget();
  const metered: buildConnector.connector = (to, callback) =>
    connect(to, (...result) => {
      if (result[0] === null) current.meter(result[1]);
      callback(...result);
    });
  // HTTP/2 would be read in native code, which counts no overhead.
  return new Agent({ ...options, maxHeaderSize: MAX_HEADERS_BYTES, allowH2: false, connect: metered }).compose(
    (dispatch) => (request, handler) => dispatch(request, metering(handler, current)),
  );
}

/** The budget of the connection that undici reads: it parses what it reads at once, and does not name the socket. */
class CurrentBudget {
  budget: PeerBudget = new PeerBudget("http1");

  meter(socket: Socket): void {
    const budget = new PeerBudget("http1");
    const charge = meterSocket(socket, budget, "readable");
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      this.budget = budget;
      // After a pause undici reads without an event.
      charge();
      // undici would parse on after it has destroyed the socket.
      return socket.destroyed ? null : read(size ?? Math.min(socket.readableLength, MAX_READ_BYTES));
    };
  }
}

/** Counts the content of a response, its chunks and its interim responses. */
function metering(handler: Handler, current: CurrentBudget): Handler {
  let { budget } = current;
  let end = (): void => undefined;
  return {
    onRequestStart(...args) {
      handler.onRequestStart?.(...args);
    },
    onRequestUpgrade(...args) {
      handler.onRequestUpgrade?.(...args);
    },
    onResponseStart(controller, status, ...args) {
      ({ budget } = current);
      if (status >= 200) end = budget.begin(0);
      else if (!budget.spend(HEADERS_BYTES)) return controller.abort(new PeerLimitError());
      handler.onResponseStart?.(controller, status, ...args);
    },
    onResponseData(controller, chunk) {
      if (!budget.refundChunk(chunk.length)) controller.abort(new PeerLimitError());
      else handler.onResponseData?.(controller, chunk);
    },
    onResponseEnd(...args) {
      end();
      handler.onResponseEnd?.(...args);
    },
    onResponseError(...args) {
      end();
      handler.onResponseError?.(...args);
    },
  };
}
