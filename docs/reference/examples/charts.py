import kadmin_nb as kn

quotas = kn.connect("prod").quotas.describe()
chart = kn.charts.hierarchy(quotas).properties(width=800)
chart.save("quotas.json")
