// Which devices have how much of what a chart of their group shows.
import { useState } from "react";
import { Link } from "@tanstack/react-router";
import { DownloadLink } from "~/measurements/chart-card";
import type { NamedMeasurement } from "~/measurements/group-measurements";
import { measurementLabel, valueText } from "~/measurements/values";
import { Button } from "~/ui/button";
import { useContributions } from "./queries";
import { t } from "~/messages/explore";

const SHOWN_FIRST = 5;
const SHOWN_MAX = 100;
const DRAWN_MAX = 7;

export function Contributions({
  item,
  query,
  isSum,
  onDraw,
}: {
  item: NamedMeasurement;
  query: Parameters<typeof useContributions>[0];
  // Whether each is a part of what the chart shows.
  isSum: boolean;
  onDraw: (ids: string[]) => void;
}) {
  const [isAll, setAll] = useState(false);
  const { data, error } = useContributions(query);
  if (error) return <p className="ink-2">{t("WhichDevicesMessage", { message: error.message })}</p>;
  const all = data?.contributions ?? [];
  if (!data || all.length === 0) return null;
  const shown = all.slice(0, isAll ? SHOWN_MAX : SHOWN_FIRST);
  const total = all.reduce((sum, each) => sum + each.value, 0);
  const most = Math.max(...all.map((each) => Math.abs(each.value)), 0);
  const title = isSum ? t("MostOfIt") : t("largest");
  return (
    <section className="contributions" aria-label={`${title}: ${measurementLabel(item)}`}>
      <h3>{title}</h3>
      <table className="plain">
        <tbody>
          {shown.map((each) => (
            <tr key={each.id}>
              <th scope="row">
                <Link to="/d/$deviceId" params={{ deviceId: each.id }} search={({ from, to, tz }) => ({ from, to, tz, tab: "chart", measurement: [item.name] })}>
                  {each.name}
                </Link>
              </th>
              <td className="contribution-bar" aria-hidden="true">
                <span style={{ width: `${most === 0 ? 0 : (Math.abs(each.value) / most) * 100}%` }} />
              </td>
              <td className="number cell-end">
                {valueText(each.value, item.decimals)}
                {item.unit && <span className="ink-2"> {item.unit}</span>}
              </td>
              {isSum && <td className="number cell-end ink-2">{total > 0 ? `${Math.round((each.value / total) * 100)} %` : "–"}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="contribution-actions">
        {all.length > SHOWN_FIRST && (
          <Button look="quiet" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? t("OnlyFirstSHOWNFIRST", { SHOWN_FIRST }) : all.length > SHOWN_MAX ? t("ShowSHOWNMAXOfCount", { SHOWN_MAX, count: all.length }) : t("ShowAllCount", { count: all.length })}
          </Button>
        )}
        <Button onClick={() => onDraw(all.slice(0, DRAWN_MAX).map((each) => each.id))}>
          {t("DrawValue", { value: all.length === 1 ? "it" : all.length <= DRAWN_MAX ? t("eachOfThem") : t("firstDRAWNMAX", { DRAWN_MAX }) })}
        </Button>
        <DownloadLink title={t("itemByDevice", { item: measurementLabel(item) })} path="/group/series" query={data.query} />
      </p>
    </section>
  );
}
