// What was sent in an attempt beside what came back, as far as it is kept; the newest is open.
import { useQuery } from "@tanstack/react-query";
import { useMay } from "~/api/may";
import type { Schemas } from "~/api/client";
import { duration } from "~/time";
import { QueryView } from "~/ui/state";
import { TimeText } from "~/ui/time-text";
import { Why } from "~/ui/why";
import { exchangesQuery } from "./queries";
import { bodyWords, phaseWords, type Message } from "./words";
import { t } from "~/messages/messages";
import "./messages.css";

type Exchange = Schemas["Exchange"];
type Part = Pick<Schemas["ExchangeResponse"], "headers" | "body">;

function Side({ title, first, part }: { title: string; first: string; part: Part }) {
  const note = bodyWords(part.body);
  return (
    <div className="exchange-side">
      <h4>{title}</h4>
      <pre tabIndex={0} aria-label={title}>
        {[first, ...Object.entries(part.headers).map(([name, value]) => `${name}: ${value}`), "", part.body.text].join("\n")}
      </pre>
      {note && <p className="ink-2">{note}</p>}
    </div>
  );
}

export function ExchangeSides({ request, response, phase }: { request: Schemas["ExchangeRequest"]; response?: Schemas["ExchangeResponse"] | null | undefined; phase?: string | null | undefined }) {
  return (
    <div className="exchange-sides">
      <Side title={t("Sent")} first={`${request.method} ${request.url}`} part={request} />
      {response ? (
        <Side title={t("Answered")} first={t("StatusStatus", { status: response.status })} part={response} />
      ) : (
        <div className="exchange-side">
          <h4>{t("Answered")}</h4>
          <p className="ink-2">{phase ? t("NoResponseBeganItFailedPhase", { phase: phaseWords(phase) }) : t("ThereIsNoResponse")}</p>
        </div>
      )}
    </div>
  );
}

function ExchangeDetails({ exchange, isOpen }: { exchange: Exchange; isOpen: boolean }) {
  const { request, response, phase } = exchange;
  return (
    <details open={isOpen} className="exchange">
      <summary>
        <TimeText at={exchange.timestamp} precision="millisecond" /> · {response ? t("statusStatus", { status: response.status }) : phaseWords(phase)} · {duration(exchange.durationMs)}
      </summary>
      <ExchangeSides request={request} response={response} phase={phase} />
    </details>
  );
}

export function Exchanges({ message }: { message: Message }) {
  const { id, connectorId } = message.event;
  const isKept = message.attempts.some((each) => each.exchangeId);
  const mayChange = useMay(message.groupId, "GET /connector/exchanges");
  const mayRead = useMay(message.groupId, "GET /group/records");
  const ids = message.attempts.map((each) => each.exchangeId ?? "").join(" ");
  const isShown = mayChange && mayRead;
  const query = useQuery({ ...exchangesQuery(message.groupId, connectorId, id ?? "", ids), enabled: isKept && isShown });
  if (!isKept) return null;
  return (
    <section className="drawer-section">
      <h3>{t("SentAndAnswered")}</h3>
      {isShown ? (
        <QueryView query={query} noun={t("exchange")} skeletonRows={3}>
          {({ items }) =>
            items.length === 0 ? (
              <p className="ink-2">{t("NoLongerKept")}</p>
            ) : (
              <>
                {[...items].reverse().map((each, index) => (
                  <ExchangeDetails key={each.id} exchange={each} isOpen={index === 0} />
                ))}
              </>
            )
          }
        </QueryView>
      ) : (
        <p className="ink-2">
          {t.rich("ThisIsShownToPeopleWho", { why: <Why operation={mayChange ? "GET /group/records" : "GET /connector/exchanges"} groupId={message.groupId} /> })}
        </p>
      )}
    </section>
  );
}
